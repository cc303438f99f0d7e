"""Costs follow the published prices; what is not published has none."""

import pytest

from modules.providers.prices import Price, cost_usd, known_price, own_price
from modules.records.messages import Usage
from modules.records.settings import ModelEntry

PRICE = Price(sent=2.0, answered=10.0, cached=0.2, cache_write=2.5)


def test_cost_counts_each_kind_of_token_at_its_own_price() -> None:
    usage = Usage(
        input_tokens=1_000_000,
        output_tokens=100_000,
        cached_tokens=600_000,
        cache_write_tokens=100_000,
    )

    assert cost_usd(usage, PRICE) == pytest.approx(0.3 * 2 + 0.6 * 0.2 + 0.1 * 2.5 + 0.1 * 10)


def test_cost_of_a_long_request_when_the_vendor_charges_more_for_it_rises() -> None:
    rising = Price(
        sent=1.0,
        answered=5.0,
        cached=0.1,
        cache_write=1.0,
        long_from=100_000,
        long_factor_sent=2.0,
        long_factor_answered=1.5,
    )
    short, long = (Usage(input_tokens=n, output_tokens=1_000) for n in (100_000, 100_001))

    assert cost_usd(short, rising) == pytest.approx(0.1 + 0.005)
    assert cost_usd(long, rising) == pytest.approx(2 * 0.100001 + 1.5 * 0.005)


def test_the_default_models_of_the_two_big_vendors_have_a_price() -> None:
    assert known_price("anthropic", "claude-sonnet-5-5") is not None
    assert known_price("openai", "gpt-6-sol") is not None


def test_an_unknown_model_has_no_price() -> None:
    assert known_price("openai", "gpt-77") is None
    assert known_price("ollama", "claude-sonnet-5-5") is None


def test_a_persons_own_price_needs_no_cached_one() -> None:
    entry = ModelEntry(usd_per_million_in=3.0, usd_per_million_out=9.0)

    assert own_price(entry) == Price(sent=3.0, answered=9.0, cached=3.0, cache_write=3.0)
    assert own_price(ModelEntry()) is None

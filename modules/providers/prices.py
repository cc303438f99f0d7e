"""What well-known models cost, in USD per million tokens.

Source: the vendors' public price pages, last checked in November 2026; standard tier, shortest
cache lifetime. A model that is not listed has no known price: its tokens are counted, no more.
Prices in a person's own settings come first. Some vendors charge long requests more; `long_from`
and its factors say so.
"""

from modules.records.messages import Usage
from modules.records.record import Record
from modules.records.settings import ModelEntry


class Price(Record):
    """Prices of one model, in USD per million tokens."""

    sent: float
    answered: float
    cached: float
    """Of tokens read from a cache."""
    cache_write: float
    long_from: int = 0
    """A request of more input tokens than this is a long one; 0: none is."""
    long_factor_sent: float = 1.0
    long_factor_answered: float = 1.0


def known_price(provider: str, model: str) -> Price | None:
    """Returns the published price, None when it is not known here."""
    return _PUBLISHED.get(f"{provider}:{model}")


def own_price(entry: ModelEntry) -> Price | None:
    """Returns the price a person wrote in their settings, None when they wrote none."""
    written = (entry.usd_per_million_in, entry.usd_per_million_out, entry.usd_per_million_cached)
    if all(number is None for number in written):
        return None
    sent = entry.usd_per_million_in or 0.0
    cached = entry.usd_per_million_cached
    return Price(
        sent=sent,
        answered=entry.usd_per_million_out or 0.0,
        cached=sent if cached is None else cached,
        cache_write=sent,
    )


def cost_usd(usage: Usage, price: Price) -> float:
    """Returns what one request cost."""
    fresh = usage.input_tokens - usage.cached_tokens - usage.cache_write_tokens
    sent = (
        max(fresh, 0) * price.sent
        + usage.cached_tokens * price.cached
        + usage.cache_write_tokens * price.cache_write
    )
    answered = usage.output_tokens * price.answered
    if price.long_from and usage.input_tokens > price.long_from:
        sent *= price.long_factor_sent
        answered *= price.long_factor_answered
    return (sent + answered) / 1_000_000


def _price(sent: float, answered: float, cached: float, cache_write: float) -> Price:
    return Price(sent=sent, answered=answered, cached=cached, cache_write=cache_write)


def _rising(sent: float, answered: float, cached: float, cache_write: float) -> Price:
    """Returns a price that doubles from 272,000 tokens on, for answers by half."""
    return Price(
        sent=sent,
        answered=answered,
        cached=cached,
        cache_write=cache_write,
        long_from=272_000,
        long_factor_sent=2.0,
        long_factor_answered=1.5,
    )


_PUBLISHED = {
    "anthropic:claude-fable-5-1": _price(10.0, 50.0, 0.25, 12.5),
    "anthropic:claude-opus-5-5": _price(4.0, 20.0, 0.2, 5.0),
    "anthropic:claude-opus-5": _price(5.0, 25.0, 0.5, 6.25),
    "anthropic:claude-opus-4-8": _price(5.0, 25.0, 0.5, 6.25),
    "anthropic:claude-opus-4-7": _price(5.0, 25.0, 0.5, 6.25),
    "anthropic:claude-sonnet-5-5": _price(2.0, 10.0, 0.1, 2.5),
    "anthropic:claude-sonnet-5": _price(2.0, 10.0, 0.2, 2.5),
    "anthropic:claude-sonnet-4-6": _price(3.0, 15.0, 0.3, 3.75),
    "anthropic:claude-haiku-5-5": Price(
        sent=0.1,
        answered=0.5,
        cached=0.01,
        cache_write=0.125,
        long_from=100_000,
        long_factor_sent=5.0,
        long_factor_answered=5.0,
    ),
    "anthropic:claude-haiku-4-5": _price(1.0, 5.0, 0.1, 1.25),
    "openai:gpt-6.2-astra": _rising(8.0, 40.0, 0.4, 10.0),
    "openai:gpt-6.2-sol": _rising(2.0, 10.0, 0.1, 2.5),
    "openai:gpt-6.1-terra": _rising(1.0, 5.0, 0.05, 1.25),
    "openai:gpt-6-sol": _rising(2.0, 10.0, 0.2, 2.5),
    "openai:gpt-6-luna": _rising(0.1, 0.5, 0.01, 0.125),
    "openai:gpt-5.5": _rising(5.0, 30.0, 0.5, 5.0),
    "openai:gpt-5.4": _rising(2.5, 15.0, 0.25, 2.5),
}

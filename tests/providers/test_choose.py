"""A SPEC becomes a model, or one line that says what to set."""

import asyncio
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from modules.providers.anthropic_messages import AnthropicMessages
from modules.providers.choose import ChosenModel, ModelSpec, choose_model, parse_spec
from modules.providers.openai_chat import OpenAiChat
from modules.providers.presets import PRESETS
from modules.providers.prices import Price
from modules.providers.scripted import ScriptedModel
from modules.records.errors import PersonFault
from modules.records.exits import Exit
from modules.records.settings import Environment, ModelEntry, Settings

KEYS = {preset.key_variable: "key" for preset in PRESETS.values() if preset.key_variable}


def choose(spec: str, variables: dict[str, str] | None = None, **models: Any) -> ChosenModel:
    return choose_model(
        spec,
        Settings(models=models),
        Environment(
            variables=KEYS if variables is None else variables,
            home=Path("/home/x"),
            user_folder=Path("/home/x/.config"),
        ),
        clock=lambda: datetime.now(UTC),
        sleep=asyncio.sleep,
    )


def fault(spec: str, variables: dict[str, str] | None = None, **models: Any) -> PersonFault:
    with pytest.raises(PersonFault) as caught:
        choose(spec, variables, **models)
    assert caught.value.exit_code == Exit.USAGE
    return caught.value


@pytest.mark.parametrize(
    ("text", "provider", "model"),
    [
        ("anthropic:claude-x", "anthropic", "claude-x"),
        (" ollama:qwen3:8b ", "ollama", "qwen3:8b"),
        ("openai", "openai", ""),
        ("scripted:/a/b:c.yaml", "scripted", "/a/b:c.yaml"),
    ],
    ids=["plain", "colons", "no model", "file"],
)
def test_a_spec_is_provider_and_model(text: str, provider: str, model: str) -> None:
    assert parse_spec(text) == ModelSpec(provider=provider, model=model)


@pytest.mark.parametrize("name", sorted(PRESETS))
def test_every_preset_can_be_chosen(name: str) -> None:
    chosen = choose(f"{name}:some-model")

    assert (chosen.spec, chosen.provider_name, chosen.model) == (
        f"{name}:some-model",
        name,
        "some-model",
    )
    assert chosen.context_tokens == PRESETS[name].context_tokens
    assert chosen.price is None
    expected = AnthropicMessages if name == "anthropic" else OpenAiChat
    assert isinstance(chosen.make(), expected)


def test_a_provider_alone_means_its_usual_model_with_its_price_and_window() -> None:
    chosen = choose("anthropic")

    assert chosen.spec == "anthropic:claude-sonnet-5-5"
    assert chosen.context_tokens == 1_000_000
    assert chosen.price is not None


def test_a_provider_without_a_usual_model_must_be_told_one() -> None:
    assert "ollama:MODEL" in fault("ollama:").hint


@pytest.mark.parametrize(
    ("present", "chosen"),
    [
        (("OPENAI_API_KEY", "ANTHROPIC_API_KEY"), "anthropic"),
        (("DEEPSEEK_API_KEY", "OPENAI_API_KEY"), "openai"),
        (("ZAI_API_KEY",), "glm"),
    ],
    ids=["anthropic first", "then openai", "any"],
)
def test_an_empty_spec_means_the_first_key_at_hand(present: tuple[str, ...], chosen: str) -> None:
    assert choose("", dict.fromkeys(present, "key")).provider_name == chosen


def test_an_empty_spec_without_any_key_names_the_variables() -> None:
    hint = fault("", {"ANTHROPIC_API_KEY": " "}).hint

    assert "ANTHROPIC_API_KEY, OPENAI_API_KEY" in hint
    assert "--model" in hint


@pytest.mark.parametrize(
    ("spec", "nearest"),
    [("antropic:x", "anthropic"), ("opnai:x", "openai"), ("locl:x", "local")],
    ids=["anthropic", "openai", "own"],
)
def test_an_unknown_provider_names_the_nearest(spec: str, nearest: str) -> None:
    told = fault(spec, local=ModelEntry(base_url="http://localhost:1/v1"))

    assert f"Did you mean {nearest!r}?" in told.hint


@pytest.mark.parametrize("name", sorted(n for n, p in PRESETS.items() if p.key_variable))
def test_a_missing_key_names_its_variable(name: str) -> None:
    assert PRESETS[name].key_variable in fault(f"{name}:m", {}).line


def test_a_compatible_server_at_another_address_needs_no_key() -> None:
    chosen = choose("openai:m", {"OPENAI_BASE_URL": "http://localhost:1234/v1"})

    assert isinstance(chosen.make(), OpenAiChat)


def test_the_usual_address_when_it_is_spelled_out_still_needs_its_key() -> None:
    told = fault("openai:m", {"OPENAI_BASE_URL": "https://api.openai.com/v1/"})

    assert "OPENAI_API_KEY" in told.line


def test_another_address_for_anthropics_format_still_needs_its_key() -> None:
    told = fault("anthropic:m", {"ANTHROPIC_BASE_URL": "http://localhost:1234"})

    assert "ANTHROPIC_API_KEY" in told.line


@pytest.mark.parametrize(
    "url", ["localhost:1234", "file:///etc", "http://", "http://[::1", "http://a:port"]
)
def test_a_base_url_that_is_no_web_address_is_refused(url: str) -> None:
    assert repr(url) in str(fault("openai:m", {"OPENAI_BASE_URL": url}))


@pytest.mark.parametrize("key", ["sk-é", "sk-a\nb"], ids=["not ASCII", "two lines"])
def test_a_key_no_header_can_carry_is_refused_unseen(key: str) -> None:
    told = fault("openai:m", {"OPENAI_API_KEY": key})

    assert "OPENAI_API_KEY" in told.line
    assert key not in told.line


def test_an_entry_describes_a_server_of_ones_own() -> None:
    entry = ModelEntry(
        base_url="https://models.example/v1",
        api_key_env="MY_KEY",
        context_tokens=50_000,
        usd_per_million_in=1.0,
        usd_per_million_out=2.0,
    )

    chosen = choose("mine:big:1", {"MY_KEY": "k"}, mine=entry)

    assert (chosen.spec, chosen.context_tokens) == ("mine:big:1", 50_000)
    assert chosen.price == Price(sent=1.0, answered=2.0, cached=1.0, cache_write=1.0)
    assert "MY_KEY" in fault("mine:big:1", {}, mine=entry).line


def test_an_entry_for_the_whole_spec_comes_before_one_for_the_provider() -> None:
    entries = {
        "openai": ModelEntry(context_tokens=10),
        "openai:small": ModelEntry(context_tokens=5),
    }

    assert choose("openai:small", None, **entries).context_tokens == 5
    assert choose("openai:large", None, **entries).context_tokens == 10


def test_an_entry_for_the_usual_model_counts_when_only_the_provider_is_named() -> None:
    usual = PRESETS["openai"].default_model

    chosen = choose("openai", None, **{f"openai:{usual}": ModelEntry(context_tokens=7)})

    assert chosen.context_tokens == 7


def test_a_script_is_read_when_it_is_chosen(tmp_path: Path) -> None:
    script = tmp_path / "s.yaml"
    script.write_text("[{agent: lead, turns: [{say: hi}]}]")

    chosen = choose(f"scripted:{script}", {})

    assert (chosen.spec, chosen.model) == (f"scripted:{script}", "s.yaml")
    assert isinstance(chosen.make(), ScriptedModel)
    assert "missing.yaml" in str(fault("scripted:missing.yaml", {}))
    assert "scripted:FILE" in fault("scripted:", {}).hint


def test_choosing_and_making_a_model_imports_no_vendor_sdk() -> None:
    program = """
import asyncio, sys
from datetime import UTC, datetime
from pathlib import Path
from modules.providers.choose import choose_model
from modules.records.settings import Environment, Settings
environment = Environment(variables={"ANTHROPIC_API_KEY": "k", "OPENAI_API_KEY": "k"},
                          home=Path("/"), user_folder=Path("/"))
for spec in ("anthropic", "openai"):
    choose_model(spec, Settings(), environment, clock=lambda: datetime.now(UTC),
                 sleep=asyncio.sleep).make()
heavy = {"anthropic", "openai", "httpx2", "pydantic", "yaml"} & set(sys.modules)
assert not heavy, heavy
"""

    done = subprocess.run(
        [sys.executable, "-c", program],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        start_new_session=True,
        check=False,
    )

    assert done.stderr == ""
    assert done.returncode == 0

"""Turns a model SPEC into a provider.

1. A SPEC is `provider:model`; the provider is a preset, a `models` entry of the person's settings,
   or `scripted` with the file in place of the model. `provider` alone means its usual model.
2. An entry called like the whole SPEC comes before one called like the provider; what it leaves
   out comes from the preset.
3. An empty SPEC means the first provider whose key is at hand.
4. A key is needed where the preset names a variable for it; not at another address than the
   preset's, except for Anthropic's format.
5. Whatever can't work is told now, with the variable or the name to set, not at the first request.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime
from difflib import get_close_matches
from pathlib import Path
from urllib.parse import urlsplit

from msgspec.structs import replace

from modules.providers.anthropic_messages import AnthropicMessages
from modules.providers.failures import Service
from modules.providers.openai_chat import OpenAiChat
from modules.providers.presets import PRESETS, SCRIPTED, Preset, Wire, context_tokens
from modules.providers.prices import Price, known_price, own_price
from modules.providers.provider import Provider
from modules.records.errors import PersonFault
from modules.records.record import Record
from modules.records.settings import Environment, ModelEntry, Settings

_SCRIPTED_PRICE = Price(sent=0.0, answered=0.0, cached=0.0, cache_write=0.0)
_SCRIPTED_CONTEXT_TOKENS = 200_000


class ModelSpec(Record):
    """A model SPEC in its two parts."""

    provider: str
    model: str
    """Empty: the provider's usual one."""

    @property
    def text(self) -> str:
        """The SPEC as people write it."""
        return f"{self.provider}:{self.model}"


@dataclass(frozen=True, kw_only=True)
class ChosenModel:
    """A model that can be asked, and what is known of it."""

    spec: str
    provider_name: str
    model: str
    """Its name at the provider, for `ModelRequest.model`."""
    make: Callable[[], Provider]
    context_tokens: int
    price: Price | None
    """None: tokens are counted, costs are not."""


@dataclass(frozen=True, kw_only=True)
class _Access:
    """How a provider is reached."""

    base_url: str
    is_elsewhere: bool
    """True when somebody named another address than the preset's."""
    key_variable: str
    key: str


def parse_spec(text: str) -> ModelSpec:
    """Returns the parts of a SPEC; a model's name may hold colons itself."""
    provider, _, model = text.strip().partition(":")
    return ModelSpec(provider=provider.strip(), model=model.strip())


def choose_model(
    spec: str,
    settings: Settings,
    environment: Environment,
    *,
    clock: Callable[[], datetime],
    sleep: Callable[[float], Awaitable[None]],
) -> ChosenModel:
    """Returns the model `spec` names; raises PersonFault when it can't be used as things stand."""
    parsed = parse_spec(spec) if spec.strip() else _at_hand(environment)
    usual = PRESETS[parsed.provider].default_model if parsed.provider in PRESETS else ""
    named = replace(parsed, model=parsed.model or usual)
    entry = settings.models.get(named.text) or settings.models.get(named.provider, ModelEntry())
    if named.provider == SCRIPTED:
        return _scripted(named, entry, clock=clock, sleep=sleep)
    preset = _preset(named, entry, settings)
    if not named.model:
        raise PersonFault(
            f"The SPEC {spec!r} names no model.",
            hint=f"Write it as {named.provider}:MODEL.",
        )
    access = _access(named, preset, entry, environment)
    return ChosenModel(
        spec=named.text,
        provider_name=named.provider,
        model=named.model,
        make=lambda: _connected(named, preset, access, clock),
        context_tokens=entry.context_tokens or context_tokens(preset, named.model),
        price=own_price(entry) or known_price(named.provider, named.model),
    )


def _at_hand(environment: Environment) -> ModelSpec:
    usable = {name: preset for name, preset in PRESETS.items() if preset.default_model}
    for name, preset in usable.items():
        if environment.variables.get(preset.key_variable, "").strip():
            return ModelSpec(provider=name, model=preset.default_model)
    variables = ", ".join(preset.key_variable for preset in usable.values())
    raise PersonFault(
        "No model is named and no key is set.",
        hint=f"Set one of {variables}, or name a model: --model provider:model.",
    )


def _preset(parsed: ModelSpec, entry: ModelEntry, settings: Settings) -> Preset:
    preset = PRESETS.get(parsed.provider)
    if preset is not None:
        return preset
    if entry.base_url:
        return Preset(base_url=entry.base_url)
    known = [*PRESETS, SCRIPTED, *(parse_spec(name).provider for name in settings.models)]
    near = get_close_matches(parsed.provider, known, n=1)
    nearest = f"Did you mean {near[0]!r}? " if near else ""
    raise PersonFault(
        f"The model provider {parsed.provider!r} is not known.",
        hint=f"{nearest}Write provider:model with one of {', '.join(sorted(set(known)))}.",
    )


def _access(
    spec: ModelSpec, preset: Preset, entry: ModelEntry, environment: Environment
) -> _Access:
    variables = environment.variables
    told = entry.base_url or variables.get(preset.base_url_variable, "").strip()
    base_url = _valid_url(told or preset.base_url, preset.wire)
    is_elsewhere = base_url != preset.base_url.rstrip("/")
    key_variable = entry.api_key_env or preset.key_variable
    key = variables.get(key_variable, "").strip() if key_variable else ""
    may_lack_key = is_elsewhere and preset.wire is Wire.OPENAI
    is_needed = bool(entry.api_key_env or (preset.key_variable and not may_lack_key))
    if is_needed and not key:
        raise PersonFault(
            f"The model {spec.text!r} needs a key, and {key_variable} is not set.",
            hint=f"Set {key_variable}, or name another model: --model provider:model.",
        )
    if not (key.isascii() and key.isprintable()):
        raise PersonFault(
            f"The key in {key_variable} holds characters that no key has.",
            hint=f"Set {key_variable} to the key alone.",
        )
    return _Access(
        base_url=base_url,
        is_elsewhere=is_elsewhere,
        key_variable=key_variable,
        key=key,
    )


def _valid_url(url: str, wire: Wire) -> str:
    if not _is_web_address(url):
        raise PersonFault(
            f"The base URL {url!r} is no web address.",
            hint="Write it with http:// or https:// and a host.",
        )
    bare = url.rstrip("/")
    # Anthropic's SDK adds the version to the path; people write it as for other providers.
    return bare.removesuffix("/v1") if wire is Wire.ANTHROPIC else bare


def _is_web_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False  # an open bracket, or a port that is no number


def _connected(
    spec: ModelSpec, preset: Preset, access: _Access, clock: Callable[[], datetime]
) -> Provider:
    service = Service(name=spec.provider, key_variable=access.key_variable, key=access.key)
    match preset.wire:
        case Wire.ANTHROPIC:
            return AnthropicMessages(service, base_url=access.base_url, clock=clock)
        case Wire.OPENAI:
            dialect = preset.dialect
            if access.is_elsewhere:
                # Most compatible servers know only the older name of this field.
                dialect = replace(dialect, max_tokens_field="max_tokens")
            return OpenAiChat(service, base_url=access.base_url, dialect=dialect, clock=clock)


def _scripted(
    spec: ModelSpec,
    entry: ModelEntry,
    *,
    clock: Callable[[], datetime],
    sleep: Callable[[float], Awaitable[None]],
) -> ChosenModel:
    # Imported here because pydantic and YAML cost 0.2 s that other models need not pay.
    from modules.providers.script_file import read_script
    from modules.providers.scripted import ScriptedModel

    if not spec.model:
        raise PersonFault("The scripted model names no file.", hint="Write it as scripted:FILE.")
    entries = read_script(Path(spec.model).expanduser())
    return ChosenModel(
        spec=spec.text,
        provider_name=SCRIPTED,
        model=Path(spec.model).name,
        make=lambda: ScriptedModel(entries, sleep=sleep, clock=clock),
        context_tokens=entry.context_tokens or _SCRIPTED_CONTEXT_TOKENS,
        price=own_price(entry) or _SCRIPTED_PRICE,
    )

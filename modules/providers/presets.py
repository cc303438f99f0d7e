"""What is known beforehand of the providers people name in a model SPEC.

Endpoints, key variables and model names: the vendors' own documentation, last checked in November
2026. Whatever the vendor changes can be overridden in a person's settings.
"""

from enum import StrEnum

from modules.providers.openai_dialect import Dialect
from modules.records.record import Record


class Wire(StrEnum):
    """The wire format a provider speaks."""

    ANTHROPIC = "anthropic"
    OPENAI = "openai"


class Preset(Record):
    """One provider."""

    wire: Wire = Wire.OPENAI
    base_url: str
    base_url_variable: str = ""
    """Environment variable that overrides `base_url`; empty: none does."""
    key_variable: str = ""
    """Environment variable that holds the key; empty: no key is needed."""
    default_model: str = ""
    """What `provider:` alone means; empty: the model must be named."""
    context_tokens: int = 128_000
    """Size of the context window where the model's own is not known."""
    dialect: Dialect = Dialect()


SCRIPTED = "scripted"

PRESETS = {
    "anthropic": Preset(
        wire=Wire.ANTHROPIC,
        base_url="https://api.anthropic.com",
        base_url_variable="ANTHROPIC_BASE_URL",
        key_variable="ANTHROPIC_API_KEY",
        default_model="claude-sonnet-5-5",
        context_tokens=200_000,
    ),
    "openai": Preset(
        base_url="https://api.openai.com/v1",
        base_url_variable="OPENAI_BASE_URL",
        key_variable="OPENAI_API_KEY",
        # The newest of its models that takes tools in the chat completions format.
        default_model="gpt-6-sol",
        dialect=Dialect(max_tokens_field="max_completion_tokens"),
    ),
    "deepseek": Preset(
        base_url="https://api.deepseek.com",
        key_variable="DEEPSEEK_API_KEY",
        default_model="deepseek-flash",
        dialect=Dialect(reasoning_field="reasoning_content"),
    ),
    "qwen": Preset(
        base_url="https://dashscope-intl.aliyuncs.com/compatible-mode/v1",
        key_variable="DASHSCOPE_API_KEY",
        default_model="qwen3-coder-plus",
    ),
    "glm": Preset(
        base_url="https://api.z.ai/api/paas/v4",
        key_variable="ZAI_API_KEY",
        default_model="glm-5.2",
        dialect=Dialect(reasoning_field="reasoning_content"),
    ),
    "openrouter": Preset(
        base_url="https://openrouter.ai/api/v1", key_variable="OPENROUTER_API_KEY"
    ),
    "ollama": Preset(base_url="http://localhost:11434/v1", context_tokens=32_768),
}

_CONTEXT_TOKENS = {
    "claude-fable-5": 1_000_000,
    "claude-opus-5": 1_000_000,
    "claude-opus-4-8": 1_000_000,
    "claude-sonnet-5": 1_000_000,
    "claude-haiku-5-5": 1_000_000,
    "gpt-6": 922_000,
    "gpt-5.5": 922_000,
    "deepseek-flash": 1_000_000,
    "qwen3-coder-plus": 1_000_000,
    "glm-5.2": 1_000_000,
}
"""By the beginning of the model's name."""


def context_tokens(preset: Preset, model: str) -> int:
    """Returns how many tokens a request to the model may hold."""
    known = (tokens for name, tokens in _CONTEXT_TOKENS.items() if model.startswith(name))
    return next(known, preset.context_tokens)

"""Keeps secrets out of what models, journals and consoles get to see.

1. Known secrets are the values of environment variables whose names say so. A value of under
   eight characters, a path, or a short word of letters alone is none.
2. They are masked wherever they stand, also as they look inside a URL or a JSON text, the longest
   first.
3. Unknown ones are found by their shape: the well-known prefixes of keys, and private keys.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from urllib.parse import quote, quote_plus

_SECRET_NAME = re.compile(r"KEY|TOKEN|SECRET|PASSW|PASSPHRASE|CREDENTIAL|_PAT$", re.IGNORECASE)
_SHORTEST = 8
_LONGER_THAN_WORDS = 16
_SHAPES = {
    "a private key": r"-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----",
    "an Anthropic key": r"\bsk-ant-[A-Za-z0-9_-]{20,}",
    "an OpenAI key": r"\bsk-(?:proj-|svcacct-)?[A-Za-z0-9_-]{20,}",
    "an AWS key": r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b",
    "a GitHub token": r"\b(?:gh[opusr]_[A-Za-z0-9]{36,}|github_pat_[A-Za-z0-9_]{40,})",
    "a GitLab token": r"\bglpat-[A-Za-z0-9_-]{20,}",
    "a Google key": r"\bAIza[A-Za-z0-9_-]{35}",
    "a Slack token": r"\bxox[abeoprs]-[A-Za-z0-9-]{10,}",
    "a Stripe key": r"\b[rs]k_live_[A-Za-z0-9]{20,}",
    "an npm token": r"\bnpm_[A-Za-z0-9]{36}",
    "a PyPI token": r"\bpypi-[A-Za-z0-9_-]{50,}",
    "a JSON web token": r"\beyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}",
}


@dataclass(frozen=True, slots=True)
class FoundSecret:
    """Something in a text that looks like a secret."""

    kind: str
    line: int
    """Counted from 1."""


class SecretMask:
    """Masks known secrets; `values` are theirs by name."""

    def __init__(self, values: Mapping[str, str]) -> None:
        masks = {
            form: f"[secret {name}]" for name, value in values.items() for form in _forms(value)
        }
        self._masks = masks
        forms = sorted(masks, key=len, reverse=True)
        self._pattern = re.compile("|".join(map(re.escape, forms))) if forms else None

    def masked(self, text: str) -> str:
        """Returns the text with every known secret replaced by `[secret NAME]`."""
        if self._pattern is None:
            return text
        return self._pattern.sub(lambda found: self._masks[found[0]], text)

    def found(self, text: str) -> tuple[FoundSecret, ...]:
        """Returns where known secrets stand in a text, by line."""
        if self._pattern is None:
            return ()
        return tuple(
            FoundSecret(
                kind=self._masks[match[0]][1:-1], line=text.count("\n", 0, match.start()) + 1
            )
            for match in self._pattern.finditer(text)
        )

    def masked_bytes(self, data: bytes) -> bytes:
        """Returns the bytes with every known secret replaced; all others stay as they are."""
        text = data.decode("utf-8", "surrogateescape")
        return self.masked(text).encode("utf-8", "surrogateescape")


def secret_values(variables: Mapping[str, str]) -> dict[str, str]:
    """Returns the secrets among environment variables."""
    return {
        name: value.strip()
        for name, value in variables.items()
        if _SECRET_NAME.search(name) and is_secret_value(value.strip())
    }


def is_secret_value(value: str) -> bool:
    """True for a value that is told from ordinary words, so that masking it hides nothing else."""
    is_word = value.isalpha() and len(value) < _LONGER_THAN_WORDS
    return len(value) >= _SHORTEST and not is_word and not value.startswith(("/", "~", "./"))


def find_secrets(text: str) -> tuple[FoundSecret, ...]:
    """Returns what looks like a secret by its shape, by line."""
    found = [
        FoundSecret(kind=kind, line=text.count("\n", 0, match.start()) + 1)
        for kind, match in _matches(text)
    ]
    return tuple(sorted(found, key=lambda secret: (secret.line, secret.kind)))


def _matches(text: str) -> Iterator[tuple[str, "re.Match[str]"]]:
    taken: set[int] = set()
    for kind, shape in _SHAPES.items():
        for match in re.finditer(shape, text):
            # One key can have the shape of two kinds; the first is the more exact one.
            if match.start() not in taken:
                taken.add(match.start())
                yield kind, match


def _forms(value: str) -> set[str]:
    return {value, quote(value, safe=""), quote_plus(value), json.dumps(value)[1:-1]}

"""Host names that could be mistaken for other ones; pure.

A label that mixes scripts no language mixes, or that is Cyrillic or Greek in letters that all look
Latin, is one.
"""

import unicodedata

_TOGETHER = (
    frozenset({"LATIN", "CJK", "HIRAGANA", "KATAKANA"}),
    frozenset({"LATIN", "CJK", "BOPOMOFO"}),
    frozenset({"LATIN", "CJK", "HANGUL"}),
)
_LATIN_LOOKING = frozenset("аеорсухіјѕһԁԛԝӏкмнвтгп" + "ονιρυχα")
_NEUTRAL = frozenset({"DIGIT", "HYPHEN-MINUS", "LOW", "KATAKANA-HIRAGANA"})


def is_look_alike(host: str) -> bool:
    """True when a label of the ASCII host name, read as people see it, mimics another."""
    return any(
        _is_odd(label) for label in map(_as_seen, host.split(".")) if label and not label.isascii()
    )


def _as_seen(label: str) -> str:
    if not label.startswith("xn--"):
        return label
    try:
        return label[4:].encode("ascii").decode("punycode")
    except UnicodeError:
        return "\N{REPLACEMENT CHARACTER}"


def _is_odd(label: str) -> bool:
    scripts = {unicodedata.name(letter, "?").split()[0] for letter in label} - _NEUTRAL
    if len(scripts) > 1:
        return not any(scripts <= together for together in _TOGETHER)
    if "?" in scripts or "REPLACEMENT" in scripts:
        return True
    return all(letter in _LATIN_LOOKING for letter in label if letter.isalpha())

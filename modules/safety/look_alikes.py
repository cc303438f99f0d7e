"""Host names that could be mistaken for other ones; pure.

A label that mixes scripts no language mixes is one, and so is one that is Cyrillic or Greek in
letters that all look Latin, unless the name ends in that script as well.
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
    labels = [_as_seen(label) for label in host.split(".") if label]
    last = _scripts(labels[-1]) if labels else set()
    return any(_is_odd(label, last) for label in labels if not label.isascii())


def _as_seen(label: str) -> str:
    if not label.startswith("xn--"):
        return label
    try:
        return label[4:].encode("ascii").decode("punycode")
    except UnicodeError:
        return "\N{REPLACEMENT CHARACTER}"


def _scripts(label: str) -> set[str]:
    return {unicodedata.name(letter, "?").split()[0] for letter in label} - _NEUTRAL


def _is_odd(label: str, last: set[str]) -> bool:
    scripts = _scripts(label)
    if len(scripts) > 1:
        return not any(scripts <= together for together in _TOGETHER)
    if "?" in scripts or "REPLACEMENT" in scripts:
        return True
    return scripts != last and all(letter in _LATIN_LOOKING for letter in label if letter.isalpha())

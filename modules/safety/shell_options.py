"""Sorts a command's arguments into options and operands; pure."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from modules.safety.shell_words import Word

_SHORTEST_ABBREVIATION = 4
_Flag = tuple[str, Word | None]


@dataclass(frozen=True, slots=True)
class Options:
    """A command's arguments sorted."""

    flags: tuple[_Flag, ...]
    """Options in order, with the value where one was given."""
    operands: tuple[Word, ...]
    unclear: tuple[Word, ...]
    """Operands and values that could turn into options."""
    sure: frozenset[str]
    """Options that can't be the value of the option before them."""

    def has(self, *names: str) -> bool:
        """True when one of the options may have been given: for what makes a command riskier."""
        return any(_is(flag, names) for flag, _ in self.flags)

    def surely_has(self, *names: str) -> bool:
        """True when one of the options was given: for what makes a command safer."""
        return not self.sure.isdisjoint(names)

    def values(self, *names: str) -> list[Word]:
        """Returns the values given to these options."""
        return [value for flag, value in self.flags if value is not None and _is(flag, names)]


def _is(flag: str, names: Iterable[str]) -> bool:
    """True where the flag is one of the names, or the beginning of a long one."""
    if not flag.startswith("--") or len(flag) < _SHORTEST_ABBREVIATION:
        return flag in names
    return any(name.startswith(flag) for name in names)


def read_options(
    args: Sequence[Word], with_value: frozenset[str] = frozenset(), *, stops: bool = False
) -> Options:
    """Returns the arguments sorted; `with_value` names the options that take the next word.

    A value that begins with a dash is read as an option too, lest it hide one. `stops` is for
    commands whose options end at the first operand.
    """
    flags: list[_Flag] = []
    operands: list[Word] = []
    sure: set[str] = set()
    rest = list(args)
    value: Word | None = None
    while rest:
        word = rest.pop(0)
        text = word.text
        if text == "--" and word is not value:
            operands.extend(rest)
            break
        if text.startswith("-") and len(text) > 1:
            found = [_long(word, with_value, rest)] if text[1] == "-" else []
            found = found or _short(word, with_value, rest)
            sure.update(name for name, _ in found if word is not value)
            flags.extend(found)
            value = found[-1][1]
            continue
        operands.append(word)
        if stops:
            operands.extend(rest)
            break
    return Options(
        flags=tuple(flags),
        operands=tuple(operands),
        unclear=_unclear(args, operands, flags, stops=stops),
        sure=frozenset(sure),
    )


def _unclear(
    args: Sequence[Word], operands: list[Word], flags: list[_Flag], *, stops: bool
) -> tuple[Word, ...]:
    texts = [word.text for word in args]
    last = texts.index("--") if "--" in texts else len(texts)
    candidates = operands[:1] if stops else [word for word in args[:last] if word in operands]
    unclear = [word for word in candidates if word.may_be_option]
    return (*unclear, *(value for _, value in flags if value is not None and value.is_split))


def _long(word: Word, with_value: frozenset[str], rest: list[Word]) -> _Flag:
    name, equals, _ = word.text.partition("=")
    if equals:
        return name, word.after(len(name) + 1)
    return name, _next(rest) if _is(name, with_value) else None


def _short(word: Word, with_value: frozenset[str], rest: list[Word]) -> list[_Flag]:
    text = word.text
    if text in with_value:
        return [(text, _next(rest))]
    flags: list[_Flag] = []
    for position, letter in enumerate(text[1:], start=1):
        name = f"-{letter}"
        if name not in with_value:
            flags.append((name, None))
        elif position + 1 < len(text):
            return [*flags, (name, word.after(position + 1))]
        else:
            return [*flags, (name, _next(rest))]
    return flags


def _next(rest: list[Word]) -> Word | None:
    if not rest:
        return None
    return rest[0] if rest[0].text[:1] == "-" and len(rest[0].text) > 1 else rest.pop(0)

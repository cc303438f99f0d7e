"""The file of a scripted model, YAML or JSON, as a person writes it.

A list of entries. Each names the agents it speaks for (`agent`, and for a worker `task`: patterns
of the agent's name, `w1/explore-*` for sub-agents, and of its task's subject) and what it says,
turn by turn. What is wrong in the file is told with its place.
"""

import re
from pathlib import Path
from typing import Self

import yaml
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    JsonValue,
    TypeAdapter,
    ValidationError,
    field_validator,
    model_validator,
)

from modules.records.errors import PersonFault

_HINT = (
    "It is a list of entries with 'agent', 'task', 'turns' and 'summary'; a turn has 'say', "
    "'call', 'expect', 'delay_seconds', 'usage', 'error' or 'cut'."
)


class _Written(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class ScriptedError(_Written):
    """The failure a turn pretends to have."""

    status: int = Field(ge=400, le=599)
    """HTTP status."""
    retry_after: float | None = Field(default=None, ge=0)
    """Seconds the pretended server asks to wait."""


class ScriptedUsage(_Written):
    """The tokens a turn pretends to have cost."""

    input_tokens: int = Field(default=0, ge=0)
    output_tokens: int = Field(default=0, ge=0)
    cached_tokens: int = Field(default=0, ge=0)
    cache_write_tokens: int = Field(default=0, ge=0)


class Turn(_Written):
    """One answer of the model."""

    say: str = ""
    call: tuple[dict[str, dict[str, JsonValue]], ...] = ()
    """Tool names with their inputs; one mapping in the file stands for a list of one."""
    expect: str = ""
    """A regexp the newest message must match."""
    delay_seconds: float = Field(default=0.0, ge=0)
    usage: ScriptedUsage | None = None
    """Counted from lengths where the file names none."""
    error: ScriptedError | None = None
    """Fails once in place of answering; the next turn is what a retry gets."""
    cut: bool = False
    """Ends the stream inside `say`; the next turn is what a retry gets."""

    @field_validator("call", mode="before")
    @classmethod
    def _listed(cls, value: object) -> object:
        mappings = [value] if isinstance(value, dict) else value
        if not isinstance(mappings, list):
            return value
        return [
            {name: {} if given is None else given for name, given in item.items()}
            if isinstance(item, dict)
            else item
            for item in mappings
        ]

    @field_validator("expect")
    @classmethod
    def _compiles(cls, value: str) -> str:
        try:
            re.compile(value)
        except re.error as error:
            raise ValueError(f"{value!r} is no regular expression: {error}") from error
        return value

    @model_validator(mode="after")
    def _answers_or_fails(self) -> Self:
        if self.error is not None and self.cut:
            raise ValueError("a turn has either 'error' or 'cut'")
        if not (self.say.strip() or any(self.call) or self.error or self.cut):
            raise ValueError("a turn needs 'say', 'call', 'error' or 'cut'")
        return self

    @property
    def is_failure(self) -> bool:
        """True for a turn that fails and is not an answer."""
        return self.error is not None or self.cut


class Entry(_Written):
    """What the agents that match say."""

    agent: str
    task: str | None = None
    turns: tuple[Turn, ...] = Field(min_length=1)
    summary: Turn = Turn(say="(The script has no summary.)")
    """What a request gets that wants the conversation summed up."""


def read_script(path: Path) -> tuple[Entry, ...]:
    """Returns the entries of the file; raises PersonFault with the place of the first mistake."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise PersonFault(
            f"The scripted model {str(path)!r} can't be read: {reason}.",
            hint="Name a YAML or JSON file: --model scripted:FILE.",
        ) from error
    try:
        return TypeAdapter(tuple[Entry, ...]).validate_python(yaml.safe_load(text))
    except yaml.YAMLError as error:
        raise PersonFault(
            f"The scripted model {str(path)!r} is neither YAML nor JSON: {_yaml_place(error)}.",
            hint=_HINT,
        ) from error
    except ValidationError as error:
        first = error.errors()[0]
        raise PersonFault(
            f"The scripted model {str(path)!r} is wrong in {_place(first['loc'])}: {first['msg']}.",
            hint=_HINT,
        ) from error


def _place(location: tuple[int | str, ...]) -> str:
    """Returns a place as a person counts: `entry 1, turn 2, call 1 > bash`."""
    if not location:
        return "its top level, which must be a list of entries"
    words = [f"entry {int(location[0]) + 1}"]
    rest = location[1:]
    if rest[:1] == ("turns",) and len(rest) > 1:
        words.append(f"turn {int(rest[1]) + 1}")
        rest = rest[2:]
    named = " > ".join(str(part + 1) if isinstance(part, int) else part for part in rest)
    return ", ".join([*words, f"{named!r}"] if named else words)


def _yaml_place(error: yaml.YAMLError) -> str:
    mark = getattr(error, "problem_mark", None)
    problem = getattr(error, "problem", None) or "it can't be parsed"
    return f"{problem} in line {mark.line + 1}" if mark is not None else str(problem)

"""The shape of `.hooks.json`, as a person writes it."""

from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

LONGEST_TIMEOUT_SECONDS = 600.0


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class HookOptions(_Strict):
    """What every hook may say, whichever shape it is written in."""

    type: Literal["command"] = "command"
    args: list[str] | None = None
    timeout: Annotated[float, Field(gt=0, le=LONGEST_TIMEOUT_SECONDS)] = 60.0
    condition: Annotated[str, Field(alias="if")] = ""
    on_failure: Annotated[Literal["continue", "block"] | None, Field(alias="onFailure")] = None


class HookCommand(HookOptions):
    """One hook in Claude Code's shape."""

    command: Annotated[str, Field(min_length=1)]


class HookGroup(HookOptions):
    """A matcher with its hooks, or in the short shape with its one command."""

    matcher: str | None = None
    hooks: list[HookCommand] | None = None
    command: Annotated[str | None, Field(min_length=1)] = None

    @model_validator(mode="after")
    def has_one_shape(self) -> Self:
        """Refuses an entry that is both shapes or none."""
        if (self.command is None) == (self.hooks is None):
            raise ValueError("an entry has either `hooks` or a `command`")
        if self.hooks is not None and self.model_fields_set - {"matcher", "hooks"}:
            raise ValueError("what is said of a command belongs beside it, inside of `hooks`")
        return self

    def commands(self) -> list[HookCommand]:
        """Returns the hooks, whichever shape they were written in."""
        if self.command is None:
            return self.hooks or []
        given = self.model_dump(by_alias=True, exclude_unset=True, exclude={"matcher", "hooks"})
        # In the short shape a hook is a guard: where it fails, it says no.
        return [HookCommand.model_validate({"onFailure": "block", **given})]


class HookFileModel(_Strict):
    """The whole file."""

    hooks: dict[str, list[HookGroup]] = {}

"""Errors, sorted by who must act: the model, the person, time, or the makers of this program.

Whatever is none of these classes is a bug: it ends the process with a traceback and exit code 70.
"""

from datetime import datetime

from modules.records.exits import Exit


class CrewyardError(Exception):
    """Anything this program raises on purpose."""


class ModelFault(CrewyardError):
    """The model must act: the message becomes the result of its tool call."""


class PersonFault(CrewyardError):
    """The person must act: one line says what and where, `hint` says what to do."""

    def __init__(self, message: str, *, hint: str, exit_code: Exit = Exit.USAGE) -> None:
        super().__init__(message)
        self.hint = hint
        self.exit_code = exit_code

    @property
    def line(self) -> str:
        """The one line a person reads."""
        return f"{self} {self.hint}".strip()


class QuotaFault(PersonFault):
    """A quota is used up until a time that is too far to wait for in place."""

    def __init__(self, message: str, *, hint: str, until: datetime) -> None:
        super().__init__(message, hint=hint, exit_code=Exit.LIMIT)
        self.until = until


class TransientFault(CrewyardError):
    """Time must pass: the same request may succeed later."""

    def __init__(self, message: str, *, retry_after_seconds: float | None = None) -> None:
        super().__init__(message)
        self.retry_after_seconds = retry_after_seconds


class ContextOverflow(CrewyardError):
    """The request is longer than the model's context window; it must shrink before a retry."""


def line_and_exit(error: CrewyardError) -> tuple[str, Exit]:
    """Returns the one line a person reads of an error that ends the program, and its exit code."""
    if isinstance(error, PersonFault):
        return error.line, error.exit_code
    return str(error), Exit.FAILED

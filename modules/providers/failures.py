"""Sorts what went wrong at a provider by who must act; pure.

1. The request is longer than the context window: ContextOverflow.
2. The account has no money or no quota left: the person must act, however the server words it.
3. 401 and 403: the person must set a valid key.
4. 408, 409, 425, 429, 5xx (but 501), a broken connection: TransientFault, with the wait the server
   asked for (`retry-after-ms`, `retry-after` in seconds or as a date). The server's own word in
   `x-should-retry` comes before the status.
5. Any other refusal would be repeated for ever: the person must act.
6. An error inside a stream has no status: its type is looked up; an unknown one is transient, as
   the request was accepted.
"""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from email.utils import parsedate_to_datetime
from typing import Any

from modules.records.errors import (
    ContextOverflow,
    CrewyardError,
    PersonFault,
    TransientFault,
)
from modules.records.exits import Exit

_TRANSIENT_STATUSES = frozenset({408, 409, 425, 429})
_STATUS_OF_TYPE = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "timeout_error": 408,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "rate_limit_exceeded": 429,
    "api_error": 500,
    "server_error": 500,
    "overloaded_error": 529,
}
_OVERFLOW_CODES = frozenset(
    {"context_length_exceeded", "string_above_max_length", "request_too_large"}
)
_OVERFLOW_WORDS = re.compile(
    r"prompt is too long|input (?:is )?too long|too many (?:input )?tokens"
    r"|context[ _](?:length|window|size)|maximum context|exceeds? the (?:model'?s )?(?:max\w* )?"
    r"(?:context|input)|range of input length",
    re.IGNORECASE,
)
_MONEY_CODES = frozenset(
    {
        "insufficient_quota",
        "billing_hard_limit_reached",
        "billing_not_active",
        "contract_spend_limit_reached",
        "enforced_spend_limit_reached",
    }
)
_TEXT_LIMIT = 400  # characters of a server's own words that are shown


@dataclass(frozen=True, kw_only=True)
class Service:
    """What people call the provider, and the variable that holds its key."""

    name: str
    key_variable: str
    """Empty where no key is needed."""
    key: str = field(default="", repr=False)
    """The key itself, so that no message repeats it."""


@dataclass(frozen=True, kw_only=True)
class Failure:
    """What a server said when it refused a request or gave up on it."""

    status: int | None
    """None for an error inside a stream."""
    codes: frozenset[str] = frozenset()
    """The machine-readable words: type and code."""
    text: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_overflow(self) -> bool:
        """True when the request was too long for the model."""
        if self.status == 413 or "request too large" in self.text.lower():
            return True
        may_be = self.status in (None, 400, 422)
        return may_be and bool(self.codes & _OVERFLOW_CODES or _OVERFLOW_WORDS.search(self.text))


class Refused(Exception):
    """A server answered a request with an error status."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.text)
        self.failure = failure


def read_failure(
    status: int | None, body: object, headers: Mapping[str, str] | None = None
) -> Failure:
    """Returns the failure a response's body tells of, in any of the shapes servers use."""
    error = body.get("error", body) if isinstance(body, dict) else body
    if not isinstance(error, dict):
        return Failure(status=status, text=_one_line(error), headers=headers or {})
    details = error.get("details")
    codes = [error.get("type"), error.get("code")]
    codes += [details.get("error_code")] if isinstance(details, dict) else []
    text = error.get("message") or error.get("detail") or error
    return Failure(
        status=status if status is not None and status >= 400 else _told_status(codes),
        codes=frozenset(str(code) for code in codes if code),
        text=_one_line(text),
        headers=headers or {},
    )


def sort_failure(failure: Failure, *, service: Service, now: datetime) -> CrewyardError:
    """Returns the error to raise."""
    status = failure.status
    told = f"{service.name} answered {status or 'with an error'}: {_without_key(failure, service)}"
    if failure.is_overflow:
        return ContextOverflow(told)
    if status == 402 or failure.codes & _MONEY_CODES:
        return _for_person(told, f"Check the plan and the credit of your {service.name} account.")
    if status in (401, 403):
        return _for_person(told, _key_hint(service), exit_code=Exit.USAGE)
    if _may_succeed_later(failure):
        return TransientFault(told, retry_after_seconds=retry_after(failure.headers, now=now))
    if status == 404:
        return _for_person(
            told, "Check the model's name (--model) and the base URL.", exit_code=Exit.USAGE
        )
    return _for_person(told, "The same request would be refused again; see what it complains of.")


def broken_connection(service: Service, error: Exception) -> TransientFault:
    """Returns the fault for a connection that could not be made or kept, with its root cause."""
    cause: BaseException = error
    while cause.__cause__ is not None:
        cause = cause.__cause__
    reason = _one_line(cause) or type(cause).__name__
    return TransientFault(f"{service.name} could not be reached: {reason}")


def retry_after(headers: Mapping[str, str], *, now: datetime) -> float | None:
    """Returns the seconds a server asked to wait, None when it named no time."""
    milliseconds = _number(headers.get("retry-after-ms"))
    if milliseconds is not None:
        return milliseconds / 1000
    value = headers.get("retry-after")
    seconds = _number(value)
    if seconds is not None or value is None:
        return seconds
    try:
        moment = parsedate_to_datetime(value)
        return max(0.0, (moment - now).total_seconds())
    except (ValueError, TypeError):
        # Not a date, or one without a zone: the server named no time we can keep to.
        return None


def _may_succeed_later(failure: Failure) -> bool:
    word = failure.headers.get("x-should-retry")
    if word in ("true", "false"):
        return word == "true"
    status = failure.status
    if status is None:
        return True
    return status in _TRANSIENT_STATUSES or (status >= 500 and status != 501)


def _told_status(codes: list[Any]) -> int | None:
    for code in codes:
        if code in _STATUS_OF_TYPE:
            return _STATUS_OF_TYPE[code]
        number = _number(code)
        if number is not None and 400 <= number < 600:
            return int(number)
    return None


def _number(value: object) -> float | None:
    try:
        number = float(str(value))
    except ValueError:
        return None
    return number if math.isfinite(number) and number >= 0 else None


def _without_key(failure: Failure, service: Service) -> str:
    is_secret = len(service.key) > len("secret")
    return failure.text.replace(service.key, "***") if is_secret else failure.text


def _key_hint(service: Service) -> str:
    if not service.key_variable:
        return "Check what the server asks of its callers."
    return f"Set {service.key_variable} to a valid key."


def _for_person(message: str, hint: str, exit_code: Exit = Exit.FAILED) -> PersonFault:
    return PersonFault(message, hint=hint, exit_code=exit_code)


def _one_line(text: object) -> str:
    line = " ".join(str(text).split())
    return line if len(line) <= _TEXT_LIMIT else f"{line[:_TEXT_LIMIT]} …"

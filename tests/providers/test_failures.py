"""Every failure finds the one who must act."""

from datetime import UTC, datetime

import pytest

from modules.providers.failures import (
    Failure,
    Service,
    broken_connection,
    read_failure,
    retry_after,
    sort_failure,
)
from modules.records.errors import ContextOverflow, CrewyardError, PersonFault, TransientFault
from modules.records.exits import Exit

NOW = datetime(2026, 10, 21, 7, 28, 0, tzinfo=UTC)
SERVICE = Service(name="acme", key_variable="ACME_KEY", key="sk-very-secret")


def sort(status: int | None, body: object, **headers: str) -> CrewyardError:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return sort_failure(read_failure(status, body, named), service=SERVICE, now=NOW)


def error(text: str, kind: str = "invalid_request_error", **fields: object) -> dict[str, object]:
    return {"type": "error", "error": {"type": kind, "message": text, **fields}}


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (400, error("prompt is too long: 212345 tokens > 200000 maximum")),
        (400, error("This model's maximum context length is 8192 tokens.")),
        (400, error("too big", code="context_length_exceeded")),
        (400, {"error": {"message": "Range of input length should be [1, 129024]"}}),
        (413, "<html>Request Entity Too Large</html>"),
        (429, error("Request too large for gpt-4o on tokens per min (TPM): Limit 30000")),
        (None, error("input is too long for the context window")),
    ],
    ids=["anthropic", "openai", "code", "qwen", "proxy", "per minute", "in the stream"],
)
def test_a_request_that_is_too_long_must_shrink(status: int | None, body: object) -> None:
    assert isinstance(sort(status, body), ContextOverflow)


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (429, error("slow down", "rate_limit_error")),
        (429, {"error": "one more 429 without the usual words"}),
        (429, ""),
        (408, ""),
        (409, ""),
        (500, error("oops", "api_error")),
        (502, "<html>Bad Gateway</html>"),
        (503, ""),
        (529, error("Overloaded", "overloaded_error")),
        (None, error("Overloaded", "overloaded_error")),
        (None, {"error": {"code": 502, "message": "upstream"}}),
        (None, {"error": {"message": "something new", "type": "never_seen_error"}}),
    ],
    ids=[
        "429",
        "other words",
        "no body",
        "408",
        "409",
        "500",
        "502",
        "503",
        "529",
        "overloaded in the stream",
        "code in the stream",
        "unknown in the stream",
    ],
)
def test_a_failure_of_the_moment_is_transient(status: int | None, body: object) -> None:
    fault = sort(status, body)

    assert isinstance(fault, TransientFault)
    assert fault.retry_after_seconds is None


@pytest.mark.parametrize(
    ("status", "body", "exit_code", "hint"),
    [
        (401, error("invalid x-api-key", "authentication_error"), Exit.USAGE, "Set ACME_KEY"),
        (403, error("no", "permission_error"), Exit.USAGE, "Set ACME_KEY"),
        (None, error("bad key", "authentication_error"), Exit.USAGE, "Set ACME_KEY"),
        (402, error("pay"), Exit.FAILED, "credit"),
        (429, error("quota", code="insufficient_quota"), Exit.FAILED, "credit"),
        (404, error("model: nope"), Exit.USAGE, "--model"),
        (400, error("max_tokens: must be positive"), Exit.FAILED, "again"),
        (422, {"detail": "bad field"}, Exit.FAILED, "again"),
        (501, "", Exit.FAILED, "again"),
    ],
    ids=["401", "403", "in the stream", "402", "no quota", "404", "400", "422", "501"],
)
def test_a_failure_a_person_can_mend_says_how(
    status: int | None, body: object, exit_code: Exit, hint: str
) -> None:
    fault = sort(status, body)

    assert isinstance(fault, PersonFault)
    assert fault.exit_code == exit_code
    assert hint in fault.hint


def test_the_servers_own_word_about_retries_comes_before_the_status() -> None:
    assert isinstance(sort(500, "", x_should_retry="false"), PersonFault)
    assert isinstance(sort(418, "", x_should_retry="true"), TransientFault)


def test_a_key_the_server_repeats_is_not_shown() -> None:
    fault = sort(401, error("wrong key: sk-very-secret"))

    assert "sk-very-secret" not in str(fault)
    assert "sk-very-secret" not in repr(SERVICE)


def test_a_long_page_is_shown_as_one_short_line() -> None:
    fault = sort(500, "<html>\n" + "x" * 5_000)

    assert "\n" not in str(fault)
    assert len(str(fault)) < 500


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "3"}, 3.0),
        ({"retry-after": "1.5"}, 1.5),
        ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
        ({"retry-after": "Wed, 21 Oct 2026 07:28:30 GMT"}, 30.0),
        ({"retry-after": "Wed, 21 Oct 2026 07:27:30 GMT"}, 0.0),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "-5"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "nan"}, None),
        ({}, None),
    ],
    ids=[
        "seconds",
        "part",
        "milliseconds",
        "date",
        "past",
        "words",
        "negative",
        "inf",
        "nan",
        "none",
    ],
)
def test_the_wait_a_server_asks_for_is_read_in_every_form(
    headers: dict[str, str], seconds: float | None
) -> None:
    assert retry_after(headers, now=NOW) == seconds


def test_a_broken_connection_tells_its_root_cause() -> None:
    outer = ConnectionError("Connection error.")
    outer.__cause__ = OSError("Name or service not known")

    fault = broken_connection(SERVICE, outer)

    assert str(fault) == "acme could not be reached: Name or service not known"


def test_a_failure_without_words_still_says_who_and_what() -> None:
    assert "acme answered 418" in str(sort_failure(Failure(status=418), service=SERVICE, now=NOW))

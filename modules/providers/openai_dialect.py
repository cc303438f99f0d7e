"""What servers of the chat completions format differ in, and how to learn it from a refusal; pure.

A server that refuses a request for its form says which field it did not like. One answer to that
is known for each field:
1. `max_tokens` and `max_completion_tokens`: the other one is sent.
2. An output limit under the one asked for: that limit is kept to.
3. `stream_options`: usage is not asked for.
4. `reasoning_effort` with the advice to set it to none, as it does not go with tools: set to none.
5. `reasoning_content` or `reasoning`: sent under the name it gave; not sent, if it was sent before.
"""

import re
from typing import Literal

from msgspec.structs import replace

from modules.records.record import Record

_NUMBER = re.compile(r"(?<![\w.-])\d[\d,]{2,8}(?![\w-])")
_SMALLEST_LIMIT = 256  # tokens; a smaller number in a complaint means something else
_LIMIT_WORDS = re.compile(r"max_(?:completion_)?tokens|completion tokens|output tokens")
_REASONING_FIELD = re.compile(r"reasoning_content|(?<=['\"`.])reasoning\b")
_EFFORT_ADVICE = re.compile(r"reasoning_effort to ['\"`]?none")
_UNKNOWN_FIELD = re.compile(
    r"un(?:known|recognized|supported|expected)|not (?:supported|permitted|allowed)|extra",
    re.IGNORECASE,
)


class Dialect(Record):
    """One server's form of the chat completions format."""

    max_tokens_field: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    reasoning_field: str = ""
    """Field of assistant messages that reasoning goes back in; empty: it does not."""
    reasoning_effort: str = ""
    """Sent as it is; empty: left to the server."""
    asks_usage: bool = True
    output_limit: int = 0
    """Most output tokens the server lets one ask for; 0: not known."""

    def output_tokens(self, wanted: int) -> int:
        """Returns how many output tokens to ask for."""
        return min(wanted, self.output_limit) if self.output_limit else wanted


def learn(dialect: Dialect, complaint: str, *, wanted_tokens: int) -> Dialect | None:
    """Returns the dialect to send a refused request in, None when its form is not at fault."""
    if dialect.max_tokens_field == "max_tokens" and "max_completion_tokens" in complaint:
        return replace(dialect, max_tokens_field="max_completion_tokens")
    limit = _told_limit(complaint, dialect.output_tokens(wanted_tokens))
    if limit:
        return replace(dialect, output_limit=limit)
    if "max_completion_tokens" in complaint and _UNKNOWN_FIELD.search(complaint):
        return replace(dialect, max_tokens_field="max_tokens")
    if dialect.asks_usage and "stream_options" in complaint:
        return replace(dialect, asks_usage=False)
    if not dialect.reasoning_effort and _EFFORT_ADVICE.search(complaint):
        return replace(dialect, reasoning_effort="none")
    named = _REASONING_FIELD.search(complaint)
    if named:
        field = "" if dialect.reasoning_field == named[0] else named[0]
        return replace(dialect, reasoning_field=field)
    return None


def _told_limit(complaint: str, asked: int) -> int:
    if not _LIMIT_WORDS.search(complaint):
        return 0
    numbers = [int(text.replace(",", "")) for text in _NUMBER.findall(complaint)]
    return max((n for n in numbers if _SMALLEST_LIMIT <= n < asked), default=0)

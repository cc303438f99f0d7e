"""A conversation as text, for a model that is to sum it up; pure.

1. Words are told whole; of inputs and outputs both ends are told.
2. The text comes in pieces that fit in a room; one entry never lies in two of them.
3. Of too many pieces the newest are kept.
"""

from collections.abc import Iterable, Sequence

from modules.context.token_count import text_tokens
from modules.records.messages import Message, Reasoning, Text, ToolCall, ToolOutput
from modules.records.session_records import Memory

_END_CHARACTERS = 300  # of each end of an input or an output
_MOST_PIECES = 12


def transcript(memory: Memory | None, messages: Iterable[Message]) -> list[str]:
    """Returns the entries of a conversation, oldest first, without an earlier summary."""
    entries = []
    if memory is not None:
        entries += [f"USER: {block.text}" for block in memory.opening]
        entries += [f"USER: {words}" for words in memory.words]
    for message in messages:
        entries += _entries(message)
    return entries


def pieces(entries: Sequence[str], *, room: int) -> list[str]:
    """Returns the entries joined to pieces of at most `room` tokens."""
    made: list[str] = []
    open_piece: list[str] = []
    left = room
    for entry in entries:
        # Four characters are a token at least, so that many always fit.
        text = entry if text_tokens(entry) <= room else both_ends(entry, room // 2)
        size = text_tokens(text) + 1
        if open_piece and size > left:
            made.append("\n\n".join(open_piece))
            open_piece, left = [], room
        open_piece.append(text)
        left -= size
    if open_piece:
        made.append("\n\n".join(open_piece))
    return made[-_MOST_PIECES:]


def both_ends(text: str, end: int) -> str:
    """Returns `text`, or `end` characters of both its ends."""
    if len(text) <= 2 * end:
        return text
    return f"{text[:end]}\n[… {len(text) - 2 * end} characters …]\n{text[-end:]}"


def _entries(message: Message) -> list[str]:
    entries = []
    for block in message.blocks:
        match block:
            case Text(text=text):
                who = "USER" if message.role == "user" else "AGENT"
                entries.append(f"{who}: {text}")
            case ToolCall(name=name, input=given):
                told = ", ".join(f"{key}={value!r}" for key, value in given.items())
                entries.append(f"CALL {name}: {both_ends(told, _END_CHARACTERS)}")
            case ToolOutput(text=text, is_error=is_error):
                kind = "ERROR" if is_error else "RESULT"
                entries.append(f"{kind}: {both_ends(text, _END_CHARACTERS)}")
            case Reasoning():
                pass
    return entries

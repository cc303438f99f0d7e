"""Keeps calls and their outputs in pairs; pure.

1. Every call of an assistant message is answered once, in the very next message, a user's.
2. Outputs stand before words, in the order of the calls.
3. A call nobody answered was interrupted, and says so.
4. An output without its call is dropped, and so is a message that holds nothing then.
"""

from collections.abc import Sequence

from msgspec.structs import replace

from modules.records.messages import Block, Message, ToolOutput

INTERRUPTED = "The call was interrupted before it gave a result."


def paired(history: Sequence[Message], incoming: Message) -> list[Message]:
    """Returns what `incoming` adds to `history`, which is in pairs itself."""
    if incoming.role == "user":
        added = [answer_open_calls(history, incoming)]
    else:
        answer = answer_open_calls(history, Message(role="user", blocks=()))
        added = [answer, incoming]
    return [message for message in added if message.blocks]


def answer_open_calls(history: Sequence[Message], incoming: Message) -> Message:
    """Returns `incoming` with exactly one output for each call that `history` ends with."""
    calls = history[-1].calls if history and history[-1].role == "assistant" else ()
    given: dict[str, ToolOutput] = {}
    for block in incoming.blocks:
        if isinstance(block, ToolOutput):
            given.setdefault(block.call_id, block)
    outputs: list[Block] = [
        given.get(call_id, ToolOutput(call_id=call_id, text=INTERRUPTED, is_error=True))
        for call_id in dict.fromkeys(call.call_id for call in calls)
    ]
    words = [block for block in incoming.blocks if not isinstance(block, ToolOutput)]
    return replace(incoming, blocks=(*outputs, *words))

"""Puts a conversation in the order every provider takes; pure.

1. Words that are blank are not sent; an assistant message without words or calls is not sent.
2. Reasoning goes back to the model it came from alone.
3. Nothing follows a call inside an assistant message: words that did stand before it, reasoning
   that did is dropped.
4. Every call is answered once, in the user message right after it; a call without an output gets
   one that says it was interrupted. Outputs stand before words, in the order of the calls.
5. An output whose call is not in the message before it is told as words, so nothing is lost.
6. An output is never blank.
7. Messages of one role that meet become one. A conversation starts and ends with the user.

A round is a run of assistant messages with the user messages that follow it. Rounds depend on
nothing but themselves, so a conversation that grows is arranged by adding rounds.
"""

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Literal

from modules.records.messages import (
    Block,
    Message,
    Reasoning,
    Text,
    ToolCall,
    ToolOutput,
    said,
)

INTERRUPTED = "The call was interrupted and gave no result."
NO_OUTPUT = "(no output)"
_OPENING = said("(The beginning of the conversation is not shown.)")
_GO_ON = said("Go on.")


def arrange(messages: Sequence[Message], *, origin: str) -> list[Message]:
    """Returns the messages as `origin` (`provider:model`) is to be sent them."""
    arranged: list[Message] = []
    for part in rounds(messages):
        add_round(arranged, part, origin=origin)
    return ended_by_user(arranged)


def rounds(messages: Sequence[Message]) -> list[Sequence[Message]]:
    """Returns the messages cut before each assistant message that follows a user message."""
    cuts = [
        index
        for index in range(1, len(messages))
        if messages[index].role == "assistant" and messages[index - 1].role == "user"
    ]
    edges = [0, *cuts, len(messages)]
    return [messages[start:end] for start, end in pairwise(edges)]


def add_round(arranged: list[Message], part: Sequence[Message], *, origin: str) -> None:
    """Adds one round to messages that are arranged already; only the last of these may change."""
    answers = [message for message in part if message.role == "assistant"]
    reactions = [message for message in part if message.role == "user"]
    outputs = _first_outputs(reactions)
    for answer in answers:
        spoken = _spoken(answer, origin)
        if not any(isinstance(block, Text | ToolCall) for block in spoken):
            continue
        _join(arranged, "assistant", spoken)
        answered = tuple(_answer_to(call, outputs) for call in answer.calls)
        if answered:
            arranged.append(Message(role="user", blocks=answered))
    for reaction in reactions:
        words = tuple(_words(reaction, outputs))
        if words:
            _join(arranged, "user", words)


def ended_by_user(arranged: list[Message]) -> list[Message]:
    """Returns arranged messages with a last word of the user where it is missing."""
    if arranged and arranged[-1].role == "user":
        return arranged
    return [*arranged, _GO_ON]


def _first_outputs(reactions: Iterable[Message]) -> dict[str, ToolOutput]:
    outputs: dict[str, ToolOutput] = {}
    for reaction in reactions:
        for block in reaction.blocks:
            if isinstance(block, ToolOutput):
                outputs.setdefault(block.call_id, block)
    return outputs


def _spoken(answer: Message, origin: str) -> tuple[Block, ...]:
    words: list[Block] = []
    calls: list[Block] = []
    for block in answer.blocks:
        if isinstance(block, ToolCall):
            calls.append(block)
        elif isinstance(block, Text):
            words.extend([block] if block.text.strip() else [])
        elif isinstance(block, Reasoning) and block.origin == origin and not calls:
            words.append(block)
    return (*words, *calls)


def _answer_to(call: ToolCall, outputs: dict[str, ToolOutput]) -> ToolOutput:
    output = outputs.pop(call.call_id, None)
    if output is None:
        return ToolOutput(call_id=call.call_id, text=INTERRUPTED, is_error=True)
    if output.text.strip():
        return output
    return ToolOutput(call_id=call.call_id, text=NO_OUTPUT, is_error=output.is_error)


def _words(reaction: Message, unclaimed: dict[str, ToolOutput]) -> Iterable[Text]:
    for block in reaction.blocks:
        if isinstance(block, Text) and block.text.strip():
            yield block
        elif isinstance(block, ToolOutput) and unclaimed.get(block.call_id) is block:
            text = block.text.strip() or NO_OUTPUT
            yield Text(text=f"(Output of an earlier call.)\n{text}")


def _join(
    arranged: list[Message], role: Literal["user", "assistant"], blocks: tuple[Block, ...]
) -> None:
    if not arranged and role == "assistant":
        arranged.append(_OPENING)
    if arranged and arranged[-1].role == role:
        blocks = (*arranged.pop().blocks, *blocks)
    arranged.append(Message(role=role, blocks=blocks))

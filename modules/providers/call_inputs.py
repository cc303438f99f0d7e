"""Turns what a model wrote as a call into a ToolCall; pure.

1. No text at all is a call without arguments.
2. Whatever is not one JSON object is a fault: it is never mended, and never run.
3. A call the output limit cut off is a fault, even if its JSON happens to be whole.
4. A faulty call has the input {}, so it can be sent back to any provider.
5. A call id is never empty and never used twice in a conversation.
"""

import hashlib
import json
import re
from collections.abc import Iterable
from typing import Any

from modules.providers.well_formed import well_formed, well_formed_json
from modules.records.messages import ModelRequest, ToolCall

_FOREIGN_TO_NAMES = re.compile(r"[^a-zA-Z0-9_-]")


def read_call(
    call_id: str, name: str, arguments: str, *, is_cut: bool, limit_tokens: int
) -> ToolCall:
    """Returns the call; `is_cut` when the output limit ended the answer inside it."""
    name = well_formed(name)
    if is_cut:
        return ToolCall(call_id=call_id, name=name, fault=_cut_fault(limit_tokens))
    try:
        value = json.loads(arguments, parse_constant=_refuse) if arguments.strip() else {}
    except (ValueError, RecursionError) as error:
        return ToolCall(call_id=call_id, name=name, fault=_syntax_fault(error))
    if not isinstance(value, dict):
        return ToolCall(call_id=call_id, name=name, fault=_syntax_fault("it is no object"))
    return ToolCall(call_id=call_id, name=name, input=well_formed_json(value))


def legal_tool_name(name: str) -> str:
    """Returns a name a provider accepts in the history, whatever the model made up."""
    return _FOREIGN_TO_NAMES.sub("_", name)[:64] or "unknown"


def used_call_ids(request: ModelRequest) -> set[str]:
    """Returns the ids of all calls in the conversation."""
    return {
        block.call_id
        for message in request.messages
        for block in message.blocks
        if isinstance(block, ToolCall)
    }


def unique_call_id(given: str, *, used: set[str], seed: Iterable[Any]) -> str:
    """Returns `given` if it can be used, else an id made from `seed`; adds it to `used`."""
    call_id = well_formed(given)
    if not call_id or call_id in used:
        digest = hashlib.sha256(repr((*seed, len(used))).encode("utf-8", "replace"))
        call_id = f"call_{digest.hexdigest()[:20]}"
    used.add(call_id)
    return call_id


def _cut_fault(limit_tokens: int) -> str:
    return (
        f"This call was cut off by the output limit of {limit_tokens} tokens, so it was not run "
        "and nothing was changed. Make it smaller: write a long text in several calls."
    )


def _syntax_fault(reason: object) -> str:
    return (
        f"The arguments of this call are not one JSON object ({reason}), so it was not run. "
        "Send the call again with valid arguments."
    )


def _refuse(constant: str) -> Any:
    raise ValueError(f"{constant} is no JSON")

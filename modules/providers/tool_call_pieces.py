"""Joins the pieces in which chat completions servers stream their tool calls; pure.

Servers agree on little here. A piece belongs to
1. the call with its index, if it has one; else the call with its id; else the last call;
2. but it starts a new call when its id differs from that call's id, or
3. when it has no id, and that call's arguments are a whole JSON object already, and the piece
   names a tool and brings arguments of its own; or
4. when it has neither index nor id, names a tool, and that call has a name already.
A name that is repeated with every piece counts once.
"""

import json
from dataclasses import dataclass
from typing import Any


@dataclass
class JoinedCall:
    """One call as far as it has come."""

    index: int | None
    call_id: str = ""
    name: str = ""
    arguments: str = ""

    @property
    def is_whole(self) -> bool:
        """True when the arguments are one JSON object."""
        try:
            return isinstance(json.loads(self.arguments), dict)
        except (ValueError, RecursionError):
            return False


class ToolCallPieces:
    """The calls of one answer, in the order they began."""

    def __init__(self) -> None:
        self.calls: list[JoinedCall] = []

    def add(self, piece: dict[str, Any]) -> None:
        """Takes the next piece."""
        index = piece.get("index")
        call_id = str(piece.get("id") or "")
        function = piece.get("function") or {}
        name = str(function.get("name") or "")
        arguments = _text(function.get("arguments"))
        call = self._open_call(index, call_id)
        if call is None or _starts_anew(call, index, call_id, name, arguments):
            call = JoinedCall(index=index)
            self.calls.append(call)
        call.call_id = call.call_id or call_id
        if name != call.name:
            call.name += name
        call.arguments += arguments

    def _open_call(self, index: int | None, call_id: str) -> JoinedCall | None:
        if index is not None:
            return next((c for c in reversed(self.calls) if c.index == index), None)
        if call_id:
            same = next((c for c in reversed(self.calls) if c.call_id == call_id), None)
            if same is not None:
                return same
        return self.calls[-1] if self.calls else None


def _starts_anew(
    call: JoinedCall, index: int | None, call_id: str, name: str, arguments: str
) -> bool:
    if call_id:
        return bool(call.call_id and call_id != call.call_id) or (
            index is None and not call.call_id and bool(name and call.name)
        )
    if index is None and name and call.name:
        return True
    return bool(name and arguments) and call.is_whole


def _text(arguments: Any) -> str:
    """Returns arguments as JSON text; some servers send the object itself."""
    if arguments is None:
        return ""
    return arguments if isinstance(arguments, str) else json.dumps(arguments)

"""A model that says what a file tells it to, for the demo, tests and people's own checks.

1. The first entry whose patterns match the request's agent and task speaks; none: the run fails.
2. The turn is told from the request alone: as many answers as the conversation holds are behind.
3. `expect` must match the newest message. Where it does not, the lead waits for more; for a worker
   the run fails, as nothing more will come.
4. A turn with `error` or `cut` fails once for a given conversation and is no answer: the same
   request gets the next turn.
5. A request to sum a conversation up gets the entry's `summary`, or a sentence that says there is
   none. Answers that a summary stands for count as behind.
6. When the turns are used up the model ends its turn without a word.
"""

import hashlib
import re
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from fnmatch import fnmatchcase
from itertools import takewhile
from typing import NoReturn

from modules.providers.failures import Failure, Service, sort_failure
from modules.providers.script_file import Entry, Turn
from modules.providers.usage_estimate import estimated_usage
from modules.records.errors import PersonFault, TransientFault
from modules.records.exits import Exit
from modules.records.messages import (
    Message,
    ModelReply,
    ModelRequest,
    StopReason,
    Text,
    ToolCall,
    Usage,
)

_SERVICE = Service(name="the scripted model", key_variable="")
_PIECES = 4  # a turn's words are streamed in as many pieces
_SHOWN_CHARACTERS = 300  # of a message that did not match


class ScriptedModel:
    """A provider that follows the entries of a script."""

    def __init__(
        self,
        entries: Sequence[Entry],
        *,
        sleep: Callable[[float], Awaitable[None]],
        clock: Callable[[], datetime],
    ) -> None:
        self._entries = entries
        self._sleep = sleep
        self._clock = clock
        self._failed: dict[str, int] = {}
        """How many failing turns each conversation has had at its present length."""

    async def complete(
        self, request: ModelRequest, *, on_text: Callable[[str], None]
    ) -> ModelReply:
        """Returns the turn that is due, after its delay."""
        number, entry = self._entry(request)
        if request.is_summary:
            return await self._sum_up(entry.summary, request)
        turn_number, turn = self._due(entry, request)
        if turn is None:
            return _silence(request)
        unmet = _unmet_expectation(turn, request, f"entry {number}, turn {turn_number}")
        if unmet and request.task:
            raise PersonFault(unmet, hint="Correct the script.", exit_code=Exit.FAILED)
        if unmet:
            return _silence(request, awaits=unmet)
        await self._sleep(turn.delay_seconds)
        if turn.is_failure:
            self._fail(turn, request, on_text)
        for piece in _pieces(turn.say):
            on_text(piece)
        return _reply(turn, request, turn_number)

    async def _sum_up(self, turn: Turn, request: ModelRequest) -> ModelReply:
        await self._sleep(turn.delay_seconds)
        if turn.is_failure:
            self._fail(turn, request, lambda _: None)
        return _reply(turn, request, 0)

    def _entry(self, request: ModelRequest) -> tuple[int, Entry]:
        for number, entry in enumerate(self._entries, start=1):
            is_task = entry.task is None or _matches(request.task, entry.task)
            if is_task and _matches(request.agent, entry.agent):
                return number, entry
        task = f" on the task {request.task!r}" if request.task else ""
        raise PersonFault(
            f"The script has no entry for the agent {request.agent!r}{task}.",
            hint="Add an entry whose 'agent' and 'task' match.",
            exit_code=Exit.FAILED,
        )

    def _due(self, entry: Entry, request: ModelRequest) -> tuple[int, Turn | None]:
        """Returns the turn that is due and its number, None past the last."""
        spoken = sum(1 for m in request.messages if m.role == "assistant" and m.blocks)
        answered = request.answers_before + spoken
        answers = [place for place, turn in enumerate(entry.turns) if not turn.is_failure]
        if answered > len(answers):
            return len(entry.turns), None
        start = answers[answered - 1] + 1 if answered else 0
        due = entry.turns[start:]
        failing = len(list(takewhile(lambda turn: turn.is_failure, due)))
        place = min(failing, self._failed.get(_fingerprint(request), 0)) if failing else 0
        return start + place + 1, due[place] if place < len(due) else None

    def _fail(self, turn: Turn, request: ModelRequest, on_text: Callable[[str], None]) -> NoReturn:
        key = _fingerprint(request)
        self._failed[key] = self._failed.get(key, 0) + 1
        if turn.error is not None:
            wait = turn.error.retry_after
            headers = {} if wait is None else {"retry-after": str(wait)}
            failure = Failure(status=turn.error.status, text="as the script says", headers=headers)
            raise sort_failure(failure, service=_SERVICE, now=self._clock())
        pieces = _pieces(turn.say)
        for piece in pieces[: max(1, len(pieces) // 2)]:
            on_text(piece)
        raise TransientFault("The model's answer broke off before its end, as the script says.")


def _matches(name: str, pattern: str) -> bool:
    # A subject with brackets in it is no pattern of itself.
    return name == pattern or fnmatchcase(name, pattern)


def _unmet_expectation(turn: Turn, request: ModelRequest, place: str) -> str:
    """Returns what the turn waits for, empty when the newest message matches."""
    newest = request.messages[-1].text if request.messages else ""
    if re.search(turn.expect, newest):
        return ""
    shown = newest if len(newest) <= _SHOWN_CHARACTERS else f"{newest[:_SHOWN_CHARACTERS]} …"
    return (
        f"The script expects {turn.expect!r} ({place}) in the newest message of "
        f"{request.agent!r}, which is {shown!r}."
    )


def _silence(request: ModelRequest, *, awaits: str = "") -> ModelReply:
    message = Message(role="assistant", blocks=())
    return ModelReply(
        message=message,
        stop=StopReason.END_TURN,
        usage=estimated_usage(request, message),
        awaits=awaits,
        means_silence=True,
    )


def _reply(turn: Turn, request: ModelRequest, turn_number: int) -> ModelReply:
    named = [pair for mapping in turn.call for pair in mapping.items()]
    calls = [
        ToolCall(call_id=_call_id(request, turn_number, position), name=name, input=dict(inputs))
        for position, (name, inputs) in enumerate(named)
    ]
    words = [Text(text=turn.say)] if turn.say.strip() else []
    message = Message(role="assistant", blocks=(*words, *calls))
    usage = estimated_usage(request, message)
    if turn.usage is not None:
        usage = Usage(**turn.usage.model_dump())
    stop = StopReason.TOOL_USE if calls else StopReason.END_TURN
    return ModelReply(message=message, stop=stop, usage=usage)


def _call_id(request: ModelRequest, turn_number: int, position: int) -> str:
    seed = repr((request.agent, request.task, turn_number, position))
    return f"c-{hashlib.sha256(_bytes(seed)).hexdigest()[:16]}"


def _fingerprint(request: ModelRequest) -> str:
    seed = repr((request.agent, request.task, request.messages))
    return hashlib.sha256(_bytes(seed)).hexdigest()


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _pieces(text: str) -> list[str]:
    size = -(-len(text) // _PIECES)
    return [text[at : at + size] for at in range(0, len(text), size)] if size else []

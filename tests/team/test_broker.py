"""The lead answers its worker, and a broken worker costs nobody else anything."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from modules.records.errors import PersonFault
from modules.records.messages import Message, ModelReply, StopReason, Text, ToolCall, said
from modules.records.protocol import (
    AnyLeadMessage,
    Assigned,
    Beat,
    Close,
    Done,
    Hello,
    Keep,
    Kept,
    Next,
    Open,
    Replied,
    Run,
    Think,
    TurnOver,
    Via,
)
from modules.records.tooling import ToolResult
from modules.team.broker import MOST_OPEN_QUESTIONS, Broker, WorkerBroken, WorkerNotUp
from tests.fakes.pipe import FakePipe
from tests.fakes.virtual_time import run_in_virtual_time

ASSIGNED = Assigned(
    worker="w1",
    lane="/lane",
    temporary="/tmp/w1",
    environment={},
    tools=("bash",),
    opening=said("do it"),
    beat_seconds=20,
)
START_SECONDS = 60.0
HEARD = "heard"
CALL = ToolCall(call_id="c1", name="bash", input={"command": "ls"})
REPLY = ModelReply(
    message=Message(role="assistant", blocks=(Text(text="hi"),)), stop=StopReason.END_TURN
)


class FakeDesk:
    """Answers at once, or when the test lets it; keeps what it was asked."""

    def __init__(self) -> None:
        self.asked: list[object] = []
        self.gate = asyncio.Event()
        self.gate.set()
        self.cancelled = 0
        self.words = "go on"
        self.trouble: BaseException | None = None

    def greet(self, pid: int) -> Assigned:
        self.asked.append(pid)
        return ASSIGNED

    def heard(self) -> None:
        self.asked.append(HEARD)

    async def think(self, incoming: Message, via: Via) -> ModelReply:
        await self._wait()
        return REPLY

    async def keep(self, incoming: Message, via: Via) -> None:
        self.asked.append(incoming)

    async def open(self, call: ToolCall, via: Via) -> ToolCall | ToolResult:
        return call if call.name == "bash" else ToolResult(text="no", is_error=True)

    async def close(self, call_id: str, result: ToolResult, via: Via) -> ToolResult:
        return ToolResult(text="/".join([*via, f"{call_id}: {result.text}"]))

    async def turn_over(self, text: str, failure: str, via: Via) -> Message | None:
        return said(self.words) if text == "more" else None

    async def _wait(self) -> None:
        try:
            await self.gate.wait()
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        if self.trouble is not None:
            raise self.trouble


class Line:
    """A broker at work on a pipe."""

    def __init__(self) -> None:
        self.pipe = FakePipe()
        self.desk = FakeDesk()
        self.broker = Broker(
            self.pipe.reader, self.pipe.writer, self.desk, start_seconds=START_SECONDS
        )
        self.serving = asyncio.create_task(self.broker.serve())

    async def answers(self) -> list[AnyLeadMessage]:
        """Lets the broker work and returns what it said."""
        await settle()
        return self.pipe.take_heard()


async def settle() -> None:
    for _ in range(40):
        await asyncio.sleep(0)


def with_line(story: Callable[[Line], Coroutine[Any, Any, None]]) -> None:
    """Runs a story beside a greeted broker, which must end well when the pipe closes."""

    async def run() -> None:
        line = Line()
        line.pipe.say(Hello(pid=7))
        assert await line.answers() == [ASSIGNED]
        await story(line)
        line.pipe.close()
        await line.serving

    run_in_virtual_time(run())


def test_worker_is_greeted_with_its_assignment_and_every_question_is_answered() -> None:
    async def story(line: Line) -> None:
        line.pipe.say(
            Keep(seq=1, incoming=said("a")),
            Think(seq=2, incoming=said("b")),
            Open(seq=3, call=CALL),
            Open(seq=4, call=ToolCall(call_id="c2", name="other")),
            Close(seq=5, call_id="c1", result=ToolResult(text="out")),
            TurnOver(seq=6, text="more"),
            TurnOver(seq=7, text=""),
        )

        answers = sorted(await line.answers(), key=lambda answer: getattr(answer, "seq", 0))

        assert answers == [
            Kept(seq=1),
            Replied(seq=2, reply=REPLY),
            Run(seq=3, call=CALL),
            Done(seq=4, result=ToolResult(text="no", is_error=True)),
            Done(seq=5, result=ToolResult(text="c1: out")),
            Next(seq=6, opening=said("go on")),
            Next(seq=7),
        ]
        assert line.desk.asked.count(HEARD) == 7

    with_line(story)


def test_questions_are_answered_side_by_side() -> None:
    async def story(line: Line) -> None:
        line.desk.gate.clear()
        line.pipe.say(Think(seq=1, incoming=said("a")), Open(seq=2, call=CALL), Beat())
        assert await line.answers() == [Run(seq=2, call=CALL)]
        assert line.desk.asked[-1] == HEARD
        line.desk.gate.set()
        assert await line.answers() == [Replied(seq=1, reply=REPLY)]

    with_line(story)


def test_half_a_character_in_an_answer_does_not_end_the_line() -> None:
    async def story(line: Line) -> None:
        line.desk.words = "\ud800"
        line.pipe.say(TurnOver(seq=1, text="more"), TurnOver(seq=2, text=""))
        assert await line.answers() == [Next(seq=1, opening=said("\ufffd")), Next(seq=2)]

    with_line(story)


def test_pipe_that_closes_cancels_open_questions_and_nothing_is_written_to_it() -> None:
    async def run() -> int:
        line = Line()
        line.pipe.say(Hello(pid=7))
        await line.answers()
        line.desk.gate.clear()
        line.pipe.say(Think(seq=1, incoming=said("a")), Think(seq=2, incoming=said("b")))
        await settle()
        line.pipe.close()
        await line.serving
        return line.desk.cancelled

    assert run_in_virtual_time(run()) == 2


def test_worker_killed_in_mid_line_is_gone_and_not_broken() -> None:
    async def story(line: Line) -> None:
        line.pipe.say_bytes(b'{"op":"think","se')

    with_line(story)


@pytest.mark.parametrize(
    "said_by_it",
    [
        b"hello?\n",
        b"\n",
        b'{"op":"rule_the_world"}\n',
        b'{"op":"think","seq":1}\n',
        b'{"op":"beat","doing":"\xff"}\n',
        b"[" * 50_000 + b"\n",
        b'{"op":"hello","pid":8}\n',
        b"x" * 70_000,
        b'{"op":"open","seq":1,"call":{"kind":"call","call_id":"1","name":"bash"},"agent":"lead"}\n',
    ],
    ids=["words", "empty", "op", "field", "utf8", "deep", "hello", "endless", "extra"],
)
def test_worker_that_says_what_no_worker_says_is_broken(said_by_it: bytes) -> None:
    async def run() -> None:
        line = Line()
        line.pipe.say(Hello(pid=7))
        line.desk.gate.clear()
        line.pipe.say(Think(seq=1, incoming=said("a")))
        await settle()
        line.pipe.say_bytes(said_by_it)
        with pytest.raises(WorkerBroken, match="The worker said"):
            await line.serving
        assert line.desk.cancelled == 1

    run_in_virtual_time(run())


def test_worker_that_asks_before_it_greets_is_broken() -> None:
    async def run() -> None:
        line = Line()
        line.pipe.say(Open(seq=1, call=CALL))
        with pytest.raises(WorkerBroken, match="Open out of turn"):
            await line.serving
        assert line.pipe.take_heard() == []

    run_in_virtual_time(run())


def test_worker_that_asks_without_end_is_broken() -> None:
    async def run() -> None:
        line = Line()
        line.desk.gate.clear()
        line.pipe.say(Hello(pid=7))
        for number in range(MOST_OPEN_QUESTIONS + 1):
            line.pipe.say(Think(seq=number, incoming=said("a")))
        with pytest.raises(WorkerBroken, match="65 things at once"):
            await line.serving

    run_in_virtual_time(run())


def test_answered_questions_do_not_count_as_open() -> None:
    async def story(line: Line) -> None:
        for number in range(2 * MOST_OPEN_QUESTIONS):
            line.pipe.say(Think(seq=number, incoming=said("a")))
            await settle()
        assert len(await line.answers()) == 2 * MOST_OPEN_QUESTIONS

    with_line(story)


def test_error_of_an_answer_is_raised_as_itself_and_ends_the_other_questions() -> None:
    async def run() -> int:
        line = Line()
        line.pipe.say(Hello(pid=7))
        line.desk.gate.clear()
        line.pipe.say(Think(seq=1, incoming=said("a")))
        await settle()
        line.desk.trouble = PersonFault("The budget is spent.", hint="")
        line.desk.gate.set()
        line.pipe.close()
        with pytest.raises(PersonFault, match="budget"):
            await line.serving
        return len(line.pipe.take_heard())

    assert run_in_virtual_time(run()) == 1


def test_errors_of_several_answers_are_raised_together() -> None:
    async def run() -> None:
        line = Line()
        line.pipe.say(Hello(pid=7))
        line.desk.gate.clear()
        line.pipe.say(Think(seq=1, incoming=said("a")), Think(seq=2, incoming=said("b")))
        await settle()
        line.desk.trouble = LookupError("a bug")
        line.desk.gate.set()
        with pytest.raises(BaseExceptionGroup) as caught:
            await line.serving
        assert [str(error) for error in caught.value.exceptions] == ["a bug", "a bug"]

    run_in_virtual_time(run())


def test_worker_that_never_says_hello_is_not_waited_for_without_end() -> None:
    async def run() -> float:
        line = Line()
        with pytest.raises(WorkerNotUp, match="did not say hello within 60 s"):
            await line.serving
        return asyncio.get_running_loop().time()

    assert run_in_virtual_time(run()) == START_SECONDS


def test_worker_that_ends_before_it_says_hello_did_not_come_up() -> None:
    async def run() -> None:
        line = Line()
        line.pipe.close()
        with pytest.raises(WorkerNotUp, match="ended before it said hello"):
            await line.serving

    run_in_virtual_time(run())


def test_worker_that_said_hello_may_be_silent_as_long_as_it_likes() -> None:
    async def story(line: Line) -> None:
        await asyncio.sleep(10 * START_SECONDS)
        assert not line.serving.done()

    with_line(story)


def test_lead_that_was_asleep_does_not_take_a_worker_that_starts_for_one_that_does_not() -> None:
    async def run() -> bool:
        line = Line()
        await settle()
        loop = asyncio.get_running_loop()
        loop._jumping.passed += 3600  # type: ignore[attr-defined]  # VirtualTimeLoop's
        await settle()
        line.pipe.say(Hello(pid=7))
        await asyncio.sleep(2 * START_SECONDS)
        is_alive = not line.serving.done()
        line.pipe.close()
        await line.serving
        return is_alive

    assert run_in_virtual_time(run())


def test_serving_that_is_cancelled_cancels_its_questions() -> None:
    async def run() -> int:
        line = Line()
        line.desk.gate.clear()
        line.pipe.say(Hello(pid=7), Think(seq=1, incoming=said("a")))
        await settle()
        line.serving.cancel()
        await asyncio.wait([line.serving])
        assert line.serving.cancelled()
        return line.desk.cancelled

    assert run_in_virtual_time(run()) == 1

"""A conversation survives its process, whatever happened to its journal."""

import asyncio
import random
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from modules.context.compaction import memory_message
from modules.context.pairing import INTERRUPTED
from modules.context.session import Session
from modules.records.decisions import Behavior, Decision, Mode, Risk
from modules.records.messages import Message, Text, ToolOutput, Usage, said
from modules.records.session_records import (
    CallDecided,
    Compacted,
    Memory,
    MessageKept,
    SessionRecord,
)
from tests.context.histories import HISTORIES, assert_in_pairs
from tests.fakes.clock import START, FakeClock
from tests.processes import start_python
from tests.providers.making import BASH, answered, call, output, told, words

INTERRUPTED_C1 = ToolOutput(call_id="c1", text=INTERRUPTED, is_error=True)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "sessions" / "lead.jsonl"


def resume(path: Path) -> Session:
    return Session(path, clock=FakeClock())


def keep(session: Session, *messages: Message) -> None:
    """Keeps messages one after the other, each on disk before the next."""

    async def one_by_one() -> None:
        for message in messages:
            await session.keep(message)

    asyncio.run(one_by_one())


def lines(path: Path) -> list[bytes]:
    return path.read_bytes().splitlines(keepends=True)


def test_session_without_a_file_is_empty_and_makes_none(path: Path) -> None:
    session = resume(path)

    assert session.messages == ()
    assert session.session_id == "lead"
    assert not path.parent.exists()


def test_conversation_is_the_same_after_a_resume(path: Path) -> None:
    session = resume(path)
    session.open(agent="lead", role="", task=None)
    session.set_prompt(model="m", system="Be brief.", tools=(BASH,))
    keep(session, said("go"), answered(call()), told(output()))
    asyncio.run(session.keep_answer(answered(words("done")), Usage(input_tokens=5), 0.1))
    session.close()

    again = resume(path)

    assert again.messages == session.messages
    assert len(again.messages) == 4
    assert again.skipped_lines == 0


def test_session_that_goes_on_is_not_opened_again(path: Path) -> None:
    first = resume(path)
    first.open(agent="lead")
    size = path.stat().st_size

    first.open(agent="lead")
    resume(path).open(agent="lead")

    assert path.stat().st_size == size


def test_prompt_is_written_when_it_changes_alone(path: Path) -> None:
    session = resume(path)
    sizes = []
    for system in ("a", "a", "b", "a"):
        session.set_prompt(model="m", system=system, tools=(BASH,))
        sizes.append(len(lines(path)))
    resume(path).set_prompt(model="m", system="a", tools=(BASH,))

    assert [*sizes, len(lines(path))] == [1, 1, 2, 3, 3]


def test_interrupted_calls_are_answered_beside_the_finished_ones(path: Path) -> None:
    session = resume(path)
    keep(session, said("go"))
    keep(session, answered(call("c1"), call("c2")))
    keep(session, told(output("c2")))

    assert session.messages[-1] == told(INTERRUPTED_C1, output("c2"))
    assert resume(path).messages == session.messages


def test_calls_open_at_a_kill_are_answered_before_the_next_words(path: Path) -> None:
    session = resume(path)
    keep(session, said("go"))
    keep(session, answered(call("c1")))

    again = resume(path)
    keep(again, said("hello"))

    assert again.messages[-1] == told(INTERRUPTED_C1, words("hello"))


def test_message_with_nothing_in_it_is_not_kept(path: Path) -> None:
    session = resume(path)
    keep(session, said("go"))
    before = path.read_bytes()

    keep(session, told(output("nobody's")))
    keep(session, answered())

    assert session.messages == (said("go"),)
    assert path.read_bytes() == before


def test_torn_tail_costs_nothing_that_is_said_after_it(path: Path) -> None:
    """prime-agent#1785, copilot-cli#4098."""
    session = resume(path)
    for number in range(25):
        keep(session, said(f"question {number}"))
        keep(session, answered(words(f"answer {number}")))
    with path.open("ab") as file:
        file.write(b'{"type":"assis')

    again = resume(path)
    keep(again, said("first"))
    keep(again, said("second"))

    assert resume(path).messages == (*session.messages, said("first"), said("second"))
    assert len(resume(path).messages) == 52


def test_last_answer_without_its_line_break_is_kept_and_its_calls_answered(path: Path) -> None:
    session = resume(path)
    keep(session, said("go"))
    keep(session, answered(call("c1")))
    path.write_bytes(path.read_bytes().rstrip(b"\n"))

    again = resume(path)
    keep(again, told(output("c1")))

    assert again.messages == (said("go"), answered(call("c1")), told(output("c1")))
    assert resume(path).messages == again.messages


def test_bad_lines_in_the_middle_are_counted_and_the_pairs_around_them_mended(path: Path) -> None:
    """claude-code#49876, claude-code#50347: all after the first bad line was forgotten."""
    session = resume(path)
    for number in range(25):
        keep(session, said(f"question {number}"))
        keep(session, answered(call(f"c{number}")))
        keep(session, told(output(f"c{number}")))
        keep(session, answered(words(f"answer {number}")))
    content = lines(path)
    content[41] = b"\0" * 300 + b"\n"  # a call, so its output on the next line is an orphan
    content[62] = b'{"kind":"later","at":"2026-03-04T05:06:07Z"}\n'  # an output of a call
    path.write_bytes(b"".join(content))

    again = resume(path)

    assert again.skipped_lines == 2
    assert_in_pairs(again.messages)
    assert again.messages[60] == told(ToolOutput(call_id="c15", text=INTERRUPTED, is_error=True))
    assert again.messages[-1] == answered(words("answer 24"))
    assert len(again.messages) == 98
    keep(again, said("and now?"))
    assert lines(path)[:100] == content


def test_half_a_character_is_kept_as_its_mark(path: Path) -> None:
    session = resume(path)
    keep(session, said("a\ud800b"))

    assert session.messages == resume(path).messages == (said("a\ufffdb"),)


def test_other_records_leave_the_conversation_as_it_is(path: Path) -> None:
    session = resume(path)
    keep(session, said("go"))
    decided: SessionRecord = CallDecided(
        at=START,
        call_id="c1",
        tool="bash",
        input_hash="0",
        mode=Mode.AUTO,
        decision=Decision(behavior=Behavior.ALLOW, risk=Risk.SAFE),
    )
    assert isinstance(decided, CallDecided)

    session.record(decided)

    assert session.messages == resume(path).messages == (said("go"),)
    assert len(lines(path)) == 2


@pytest.mark.slow
@settings(deadline=None)  # the disk takes its time
@given(messages=HISTORIES, lost=st.sets(st.integers(0, 9)), more=HISTORIES)
def test_any_history_with_any_lines_lost_is_in_pairs(
    messages: list[Message], lost: set[int], more: list[Message]
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "lead.jsonl"
        session = resume(path)
        keep(session, *messages)
        session.close()
        kept = lines(path) if path.exists() else []
        path.write_bytes(
            b"".join(b"lost\n" if number in lost else one for number, one in enumerate(kept))
        )

        again = resume(path)
        assert_in_pairs(again.messages)
        keep(again, *more)
        again.close()
        third = resume(path)
        third.close()

        assert_in_pairs(again.messages)
        assert third.messages == again.messages


def test_kept_messages_carry_the_time_of_the_clock(path: Path) -> None:
    session = resume(path)

    keep(session, said("go"))

    assert b'"at":"2026-03-04T05:06:07Z"' in path.read_bytes()
    assert MessageKept(at=START, message=said("go")).at == START


MEMORY = Memory(opening=(Text(text="the task"),), summary="so far: ten steps", answers=10)


def compaction(*messages: Message, memory: Memory | None = MEMORY) -> Compacted:
    return Compacted(
        at=START,
        trigger="auto",
        step="summary",
        tokens_before=100,
        tokens_after=10,
        memory=memory,
        facts="The board is empty.",
        messages=messages,
    )


def test_compacted_conversation_goes_on_from_there_and_the_journal_has_all_of_it(
    path: Path,
) -> None:
    session = resume(path)
    keep(session, said("the task"), answered(call()), told(output()))
    before = path.read_bytes()

    asyncio.run(session.compact(compaction(answered(call()), told(output()))))
    keep(session, answered(words("done")))
    again = resume(path)

    head = memory_message(MEMORY, "The board is empty.")
    expected = (head, answered(call()), told(output()), answered(words("done")))
    assert session.messages == again.messages == expected
    assert again.memory == MEMORY
    assert path.read_bytes().startswith(before)


def test_conversation_that_lost_outputs_alone_keeps_its_own_beginning(path: Path) -> None:
    session = resume(path)
    keep(session, said("the task"))

    asyncio.run(session.compact(compaction(said("the task"), memory=None)))

    assert session.messages == (said("the task"),)
    assert session.memory is None


def test_compaction_that_a_crash_tore_leaves_the_conversation_as_it_was(path: Path) -> None:
    """SES-01: a torn tail costs itself alone."""
    session = resume(path)
    keep(session, said("the task"), answered(call()), told(output()))
    before = session.messages
    asyncio.run(session.compact(compaction()))
    session.close()
    path.write_bytes(path.read_bytes()[:-40])

    again = resume(path)
    torn = again.messages
    keep(again, said("go on"))

    assert torn == before
    assert resume(path).messages == (*before, said("go on"))


USAGES = [
    Usage(input_tokens=42_900, output_tokens=300, cached_tokens=40_000, cache_write_tokens=2_000),
    Usage(input_tokens=42_900, output_tokens=300, cached_tokens=40_000),
]


@pytest.mark.parametrize("usage", USAGES, ids=["anthropic", "openai"])
def test_size_is_the_last_request_with_its_answer_and_what_came_since(
    path: Path, usage: Usage
) -> None:
    """SES-04: never a sum over requests, and the cached part counts once."""
    session = resume(path)
    for _ in range(20):
        keep(session, said("x" * 4_000))
        keep(session, answered(words("ok")))
        session.pay(usage, None)
    session.pay(Usage(input_tokens=90_000), None, is_summary=True)
    told_size = session.tokens(lambda: 7)
    keep(session, said("x" * 4_000))

    assert told_size == 43_200
    assert 44_200 <= session.tokens(lambda: 7) < 44_300
    assert resume(path).tokens(lambda: 7) == session.tokens(lambda: 7)


def test_size_without_figures_is_an_estimate_that_counts_everything(path: Path) -> None:
    """SES-04: a provider that tells no figures, or zeros."""
    session = resume(path)
    for _ in range(20):
        keep(session, said("x" * 4_000))
        keep(session, answered(words("ok")))
        session.pay(Usage(), None)

    assert 21_000 < session.tokens(lambda: 1_000) < 22_000


def test_size_drops_with_a_compaction_and_after_a_resume(path: Path) -> None:
    """SES-04: what was told of the conversation before counts no more."""
    session = resume(path)
    keep(session, said("go"))
    keep(session, answered(words("ok")))
    session.pay(Usage(input_tokens=90_000, output_tokens=10), None)

    asyncio.run(session.compact(compaction()))

    assert session.tokens(lambda: 1_000) < 1_200
    assert resume(path).tokens(lambda: 1_000) == session.tokens(lambda: 1_000)


KEEPING = """
import asyncio, sys
from datetime import UTC, datetime
from pathlib import Path

from modules.context.session import Session
from modules.records.messages import said


async def keep_on() -> None:
    session = Session(Path(sys.argv[1]), clock=lambda: datetime.now(UTC))
    number = len(session.messages)
    while True:
        await session.keep(said(f"{number}"))
        print(number, flush=True)
        number += 1


asyncio.run(keep_on())
"""


@pytest.mark.slow
def test_process_killed_at_any_moment_leaves_every_message_it_went_on_from(path: Path) -> None:
    chance = random.Random(7)
    acknowledged = -1
    for _ in range(8):
        keeping = start_python(KEEPING, path)
        assert keeping.stdout is not None
        for _ in range(chance.randint(1, 60)):
            acknowledged = int(keeping.stdout.readline())
        keeping.kill()
        rest = keeping.stdout.read().split("\n")[:-1]
        keeping.communicate()
        acknowledged = int(rest[-1]) if rest else acknowledged

        kept = [message.text for message in resume(path).messages]
        assert kept == [str(number) for number in range(len(kept))]
        assert len(kept) > acknowledged


def test_messages_kept_at_once_by_several_stand_in_the_order_they_came(path: Path) -> None:
    session = resume(path)
    messages = [said(str(number)) for number in range(50)]

    async def all_at_once() -> None:
        await asyncio.gather(*(session.keep(message) for message in messages))

    asyncio.run(all_at_once())
    session.close()

    assert resume(path).messages == tuple(messages)


def test_keep_that_is_cancelled_has_kept_what_it_was_given(path: Path) -> None:
    session = resume(path)

    async def interrupted() -> None:
        keeping = asyncio.create_task(session.keep(said("go")))
        await asyncio.sleep(0)
        keeping.cancel()
        await asyncio.wait({keeping})

    asyncio.run(interrupted())
    session.close()

    assert resume(path).messages == (said("go"),)

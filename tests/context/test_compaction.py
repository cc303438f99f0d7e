"""What is left of any conversation is legal, smaller, and has what must be kept."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from modules.context.compaction import (
    KEPT_STEPS,
    SHORT_CHARACTERS,
    Window,
    last_steps,
    memory_message,
    remembered,
    shortened,
    shortened_memory,
    step_starts,
    without_old_outputs,
)
from modules.context.pairing import paired
from modules.context.token_count import history_tokens, message_tokens
from modules.records.messages import Message, Reasoning, Text, ToolOutput, said
from modules.records.session_records import Memory
from tests.context.histories import HISTORIES, assert_in_pairs
from tests.context.histories import words as blocks_but_outputs
from tests.providers.making import answered, call, output, told, words

PLANS = frozenset({"todo"})
LONG = "x" * (SHORT_CHARACTERS + 1)


def in_pairs(messages: list[Message]) -> list[Message]:
    history: list[Message] = []
    for message in messages:
        history += paired(history, message)
    return history


LEGAL_HISTORIES = HISTORIES.map(in_pairs)


def nowhere(name: str, text: str) -> str:
    return f"{name} is in a file"


def steps(count: int, *, text: str = LONG) -> list[Message]:
    """Returns a task and so many steps with an output each."""
    history = [said("the task")]
    for number in range(count):
        history += [
            answered(call(f"c{number}", input={"path": f"f{number}.py"})),
            told(output(f"c{number}", text=text)),
        ]
    return history


def spoken(history: list[Message]) -> list[str]:
    users = [message for message in history if message.role == "user"]
    return [block.text for m in users for block in m.blocks if isinstance(block, Text)]


def plan(call_id: str, text: str, **fields: object) -> list[Message]:
    return [answered(call(call_id, name="todo")), told(output(call_id, text=text, **fields))]


def compacted(
    history: list[Message], *, room: int = 0, words_room: int = 10_000, memory: Memory | None = None
) -> tuple[Memory, list[Message]]:
    size = [message_tokens(message) for message in history]
    cut = last_steps(history, room=room, most=KEPT_STEPS, size=size)
    made = remembered(
        memory,
        history[:cut],
        history[cut:],
        summary="ok",
        standing=PLANS,
        room=words_room,
    )
    return made, history[cut:]


@pytest.mark.parametrize(
    ("tokens", "answer", "limit"),
    [(200_000, 16_000, 174_000), (1_000_000, 16_000, 934_000), (8_000, 2_000, 5_600)],
)
def test_window_leaves_room_for_an_answer_and_for_what_an_estimate_misses(
    tokens: int, answer: int, limit: int
) -> None:
    window = Window(tokens=tokens)

    assert (window.answer, window.limit) == (answer, limit)


def test_old_outputs_name_their_files_and_the_last_ones_stay() -> None:
    history = steps(KEPT_STEPS + 2)

    left = without_old_outputs(history, standing=PLANS, lay_by=nowhere)

    note = f"[This output of {len(LONG)} characters is left out to save room; c0 is in a file]"
    assert left[2] == told(output("c0", text=note))
    assert [m.text == LONG for m in left[2::2]] == [False, False, True, True, True, True]
    assert left[1::2] == history[1::2]


def test_output_that_lies_in_a_file_already_gets_no_second_one() -> None:
    spilled = f"{LONG}\n[9 characters omitted; the whole text is in /t/c0.txt]\n{LONG}"
    history = steps(KEPT_STEPS + 1, text=spilled)

    left = without_old_outputs(history, standing=PLANS, lay_by=nowhere)

    assert left[2].text.endswith("left out to save room; the whole text is in /t/c0.txt]")


def test_short_outputs_and_the_newest_plan_stay() -> None:
    history = [
        said("go"),
        *plan("p1", LONG + "old plan"),
        *plan("p2", LONG + "new plan"),
        *plan("p3", LONG, is_error=True),
        *steps(KEPT_STEPS)[1:],
        answered(call("s")),
        told(output("s", text="short")),
    ]

    left = without_old_outputs(history, standing=PLANS, lay_by=nowhere)

    assert "old plan" not in left[2].text
    assert left[4].text == LONG + "new plan"
    assert left[-1].text == "short"


@given(LEGAL_HISTORIES)
def test_any_conversation_without_old_outputs_is_in_pairs_and_says_the_same(
    history: list[Message],
) -> None:
    left = without_old_outputs(history, standing=PLANS, lay_by=nowhere)

    assert_in_pairs(left)
    assert blocks_but_outputs(left) == blocks_but_outputs(history)
    assert left[len(left) - 2 * KEPT_STEPS :] == history[len(history) - 2 * KEPT_STEPS :]


@given(LEGAL_HISTORIES, st.integers(min_value=0, max_value=200))
def test_any_conversation_with_a_memory_is_in_pairs_and_begins_with_it(
    history: list[Message], room: int
) -> None:
    memory, kept = compacted(history, room=room)
    left = [memory_message(memory, ""), *kept]

    assert_in_pairs(left)
    assert [m.role for m in left[1:2]] in ([], ["assistant"])
    assert kept == history[len(history) - len(kept) :]
    assert memory.answers == sum(m.role == "assistant" for m in history[: -len(kept) or None])


@given(LEGAL_HISTORIES)
def test_whatever_was_said_is_in_the_memory_or_still_in_its_place(history: list[Message]) -> None:
    memory, kept = compacted(history)

    said_still = [*(block.text for block in memory.opening), *memory.words, *spoken(kept)]
    assert [text for text in said_still if text] == [text for text in spoken(history) if text]


@given(LEGAL_HISTORIES, st.integers(min_value=2, max_value=50))
def test_any_shortened_conversation_is_in_pairs(history: list[Message], limit: int) -> None:
    left = [shortened(message, limit, nowhere) for message in history]

    assert_in_pairs(left)


def test_memory_keeps_task_correction_plan_and_files_whatever_the_summary_says() -> None:
    task = "Task 7: add a median. Accepted when UNIQUE-MARKER passes."
    history = [
        said(task),
        *plan("p1", "[x] read\n[ ] write"),
        answered(call("c1", input={"path": "stats.py"})),
        told(output("c1", text=LONG), words("use tabs")),
        *steps(KEPT_STEPS)[1:],
    ]

    memory, kept = compacted(history, room=10_000)

    assert memory == Memory(
        opening=(Text(text=task),),
        words=("use tabs",),
        summary="ok",
        results={"todo": "[x] read\n[ ] write"},
        files=("stats.py",),
        answers=2,
    )
    assert kept == history[5:]
    text = memory_message(memory, "The board: task 7 is yours.").text
    for kept_text in (task, "use tabs", "[ ] write", "stats.py", "ok", "task 7 is yours"):
        assert kept_text in text


def test_second_memory_carries_on_what_the_first_one_kept() -> None:
    first = Memory(
        opening=(Text(text="the task"),),
        words=("use tabs",),
        summary="first",
        results={"todo": "[ ] write"},
        files=("a.py", "b.py"),
        answers=5,
    )
    history = [*steps(1)[1:], answered(words("?")), said("and no blanks"), *steps(1)[1:]]

    memory, kept = compacted(history, memory=first)

    assert memory == Memory(
        opening=first.opening,
        words=("use tabs", "and no blanks"),
        summary="ok",
        results={"todo": "[ ] write"},
        files=("a.py", "b.py", "f0.py"),
        answers=7,
    )
    assert kept == history[-2:]


def test_plan_that_is_still_in_its_place_is_not_told_twice() -> None:
    memory, _ = compacted([said("go"), *plan("p1", "old"), *plan("p2", "new")])

    assert memory.results == {}


def test_events_are_told_anew_and_mail_gives_way_to_what_the_person_said() -> None:
    mail = '<message from="w1" sent="10:00:00">\n' + "m" * 400 + "\n</message>"
    events = "<team-events>\ntask 1 landed\n</team-events>"
    history = [
        said("goal"),
        answered(words("ok")),
        said(f"use tabs\n\n{events}\n{mail}"),
        answered(words("ok")),
        said("no blanks"),
        answered(words("ok")),
    ]

    roomy, _ = compacted(history)
    narrow, _ = compacted(history, words_room=20)

    assert roomy.words == ("use tabs", mail, "no blanks")
    assert narrow.words == ("use tabs", "no blanks")


def test_last_steps_fit_in_their_room_but_one_always_stays() -> None:
    history = steps(10)
    size = [message_tokens(message) for message in history]

    assert last_steps(history, room=0, most=9, size=size) == 19
    assert last_steps(history, room=3 * sum(size[-2:]), most=9, size=size) == 15
    assert last_steps(history, room=10**9, most=2, size=size) == 17
    assert last_steps([said("only words")], room=0, most=9, size=[3]) == 1


def test_step_begins_at_an_answer_that_follows_no_answer() -> None:
    history = [answered(words("a")), answered(words("b")), said("c"), answered(words("d"))]

    assert step_starts(history) == [0, 3]


def test_shortened_texts_keep_both_ends_and_name_their_file() -> None:
    text = "begin" + "x" * 5_000 + "end"
    message = answered(
        Reasoning(origin="p:m", text=text),
        words(text),
        call(input={"content": text, "lines": 3}),
    )

    spoken, made = shortened(message, 100, nowhere).blocks

    assert isinstance(spoken, Text)
    assert spoken.text.startswith("begin")
    assert spoken.text.endswith("end")
    assert "[4908 characters left out to save room; text is in a file]" in spoken.text
    assert made == call(input={"content": spoken.text, "lines": 3})
    assert shortened(told(output(text="short")), 100, nowhere) == told(output(text="short"))


def test_shortened_reasoning_alone_stays_since_no_message_may_be_empty() -> None:
    message = answered(Reasoning(origin="p:m", text="x" * 1_000))

    assert shortened(message, 100, nowhere) == message


def test_shortened_memory_fits_whatever_was_long_in_it() -> None:
    long = "y" * 90_000
    memory = Memory(opening=(Text(text=long),), words=(long,), summary=long, results={"todo": long})

    left = memory_message(shortened_memory(memory, 1_200, nowhere), "")

    assert history_tokens([left]) < 1_800
    assert isinstance(left.blocks[0], Text)
    assert not any(isinstance(block, ToolOutput) for block in left.blocks)

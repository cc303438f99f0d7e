"""A scripted model answers from the request alone, so nothing it is asked can confuse it."""

import asyncio
from datetime import UTC, datetime

import pytest
from pydantic import JsonValue

from modules.providers.script_file import Entry, ScriptedError, ScriptedUsage, Turn
from modules.providers.scripted import ScriptedModel
from modules.records.errors import PersonFault, TransientFault
from modules.records.exits import Exit
from modules.records.messages import (
    Message,
    ModelReply,
    ModelRequest,
    StopReason,
    Text,
    Usage,
    said,
)
from tests.providers.making import answered, output, request, told

WORKER = {"agent": "ada", "task": "add mean"}


class Talk:
    """A scripted model and a conversation with it."""

    def __init__(self, *entries: Entry) -> None:
        self.slept: list[float] = []
        self.heard: list[str] = []
        self.model = ScriptedModel(entries, sleep=self._sleep, clock=lambda: datetime.now(UTC))

    async def _sleep(self, seconds: float) -> None:
        self.slept.append(seconds)

    def ask(self, asked: ModelRequest) -> ModelReply:
        return asyncio.run(self.model.complete(asked, on_text=self.heard.append))


def lead(*turns: Turn) -> Talk:
    return Talk(Entry(agent="lead", turns=turns))


def test_turns_come_in_order_by_the_answers_in_the_conversation() -> None:
    talk = lead(Turn(say="one"), Turn(say="two"))
    first = talk.ask(request())
    second = talk.ask(request(said("hello"), first.message, said("on")))
    first_again = talk.ask(request())

    assert [reply.message.text for reply in (first, second, first_again)] == ["one", "two", "one"]


def test_an_answer_has_its_words_calls_and_figures() -> None:
    turn = Turn(
        say="I post.",
        call=({"bash": {"command": "ls"}, "todo": {}}, {"bash": {"command": "pwd"}}),
        usage=ScriptedUsage(input_tokens=10, output_tokens=2, cached_tokens=4),
        delay_seconds=0.2,
    )
    talk = lead(turn)

    reply = talk.ask(request())

    assert reply.stop == StopReason.TOOL_USE
    assert reply.usage == Usage(input_tokens=10, output_tokens=2, cached_tokens=4)
    assert [(call.name, call.input) for call in reply.message.calls] == [
        ("bash", {"command": "ls"}),
        ("todo", {}),
        ("bash", {"command": "pwd"}),
    ]
    assert talk.slept == [0.2]
    assert "".join(talk.heard) == "I post."
    assert len(talk.heard) > 1


def test_call_ids_are_unique_in_a_crew_and_stable() -> None:
    calls: tuple[dict[str, dict[str, JsonValue]], ...] = ({"bash": {}}, {"bash": {}})
    talk = Talk(Entry(agent="*", turns=(Turn(call=calls), Turn(call=calls))))
    grown = (said("hello"), answered(Text(text="x")), said("on"))

    replies = [
        talk.ask(request(*messages, agent=agent, task=task))
        for agent in ("ada", "bob")
        for task in ("", "one", "two")
        for messages in ((said("hello"),), grown)
    ]
    ids = [call.call_id for reply in replies for call in reply.message.calls]

    assert len(set(ids)) == len(ids) == 24
    again = talk.ask(request(said("hello"), agent="ada", task="one"))
    assert again.message == replies[2].message


def test_usage_when_the_script_names_none_is_an_estimate() -> None:
    usage = lead(Turn(say="x" * 40)).ask(request()).usage

    assert usage.is_estimate
    assert usage.output_tokens == 10
    assert usage.input_tokens > 0


def test_the_first_entry_that_matches_agent_and_task_speaks() -> None:
    talk = Talk(
        Entry(agent="lead", turns=(Turn(say="lead"),)),
        Entry(agent="*", task="add *", turns=(Turn(say="adder"),)),
        Entry(agent="a*", task="fix [it]", turns=(Turn(say="brackets"),)),
        Entry(agent="a*", turns=(Turn(say="any a"),)),
    )

    spoken = [
        talk.ask(request(agent=agent, task=task)).message.text
        for agent, task in [("lead", ""), ("ada", "add mean"), ("ada", "fix [it]"), ("ada", "")]
    ]

    assert spoken == ["lead", "adder", "brackets", "any a"]


def test_a_request_no_entry_matches_fails_with_agent_and_task() -> None:
    with pytest.raises(PersonFault, match=r"'bob' on the task 'add mean'") as caught:
        lead(Turn(say="x")).ask(request(agent="bob", task="add mean"))

    assert caught.value.exit_code == Exit.FAILED


def test_the_end_of_the_script_is_silence() -> None:
    talk = lead(Turn(say="one"))

    reply = talk.ask(request(said("hello"), answered(Text(text="one")), said("on")))

    assert (reply.message, reply.stop, reply.awaits) == (answered(), StopReason.END_TURN, "")


def test_silence_in_the_conversation_is_no_answer_that_counts() -> None:
    talk = lead(Turn(say="one"), Turn(expect="landed", say="two"))
    history: tuple[Message, ...] = (said("hello"), answered(Text(text="one")), said("wait"))
    waiting = talk.ask(request(*history))

    reply = talk.ask(request(*history, waiting.message, said("task 1 landed")))

    assert waiting.message == answered()
    assert reply.message.text == "two"


def test_a_lead_whose_expectation_is_unmet_waits_and_says_for_what() -> None:
    talk = lead(Turn(expect="land.d", say="Done.", delay_seconds=9))

    reply = talk.ask(request(said("still " + "x" * 900)))

    assert (reply.message, reply.stop) == (answered(), StopReason.END_TURN)
    for part in ("entry 1", "turn 1", "'land.d'", "still xxx"):
        assert part in reply.awaits
    assert len(reply.awaits) < 600
    assert talk.slept == []


def test_an_expectation_is_met_by_words_or_outputs_of_the_newest_message_alone() -> None:
    talk = Talk(Entry(agent="*", turns=(Turn(say="a"), Turn(expect="^exit 0", say="b"))))
    met = request(said("go"), answered(Text(text="a")), told(output(text="exit 0")), **WORKER)
    unmet = request(said("exit 0"), answered(Text(text="a")), told(output(text="no")), **WORKER)

    assert talk.ask(met).message.text == "b"
    with pytest.raises(PersonFault, match=r"entry 1, turn 2.*'no'") as caught:
        talk.ask(unmet)
    assert caught.value.exit_code == Exit.FAILED


def test_failing_turns_fail_once_each_and_a_retry_gets_the_next_turn() -> None:
    talk = lead(
        Turn(error=ScriptedError(status=429, retry_after=2.0)),
        Turn(error=ScriptedError(status=503)),
        Turn(say="A"),
        Turn(say="never heard whole", cut=True),
        Turn(say="B"),
    )

    with pytest.raises(TransientFault) as first:
        talk.ask(request())
    with pytest.raises(TransientFault) as second:
        talk.ask(request())
    reply = talk.ask(request())
    grown = request(said("hello"), reply.message, said("on"))
    talk.heard.clear()
    with pytest.raises(TransientFault):
        talk.ask(grown)
    half = "".join(talk.heard)
    last = talk.ask(grown)

    assert first.value.retry_after_seconds == 2.0
    assert second.value.retry_after_seconds is None
    assert (reply.message.text, last.message.text) == ("A", "B")
    assert half
    assert "never heard whole".startswith(half)
    assert half != "never heard whole"


def test_failures_of_one_conversation_are_not_another_ones() -> None:
    failing = Turn(error=ScriptedError(status=500))
    talk = Talk(Entry(agent="*", turns=(failing, Turn(say="A"))))

    for agent in ("ada", "bob"):
        with pytest.raises(TransientFault):
            talk.ask(request(agent=agent, task="t"))
    spoken = [talk.ask(request(agent=agent, task="t")).message.text for agent in ("ada", "bob")]

    assert spoken == ["A", "A"]


def test_a_failing_turn_at_the_end_is_followed_by_silence() -> None:
    talk = lead(Turn(error=ScriptedError(status=500)))

    with pytest.raises(TransientFault):
        talk.ask(request())

    assert talk.ask(request()).message == answered()


def test_a_scripted_refusal_is_for_the_person() -> None:
    with pytest.raises(PersonFault):
        lead(Turn(error=ScriptedError(status=401))).ask(request())


def test_a_conversation_with_half_a_surrogate_pair_can_fail_and_go_on() -> None:
    talk = lead(Turn(error=ScriptedError(status=500)), Turn(say="A"))
    odd = request(said("\ud800"))

    with pytest.raises(TransientFault):
        talk.ask(odd)

    assert talk.ask(odd).message.text == "A"

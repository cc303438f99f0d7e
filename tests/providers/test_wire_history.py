"""A conversation costs what is new in it, and is sent as if it were encoded anew."""

from collections.abc import Sequence

import msgspec
from hypothesis import given, settings
from msgspec.structs import replace

from modules.providers.arrangement import arrange
from modules.providers.wire_history import WireHistory
from modules.records.messages import Message, ModelRequest, Reasoning, said
from tests.providers.making import BASH, answered, call, output, request, steps, told, words
from tests.providers.test_arrangement import MESSAGES

ORIGIN = "p:m"
THOUGHT = Reasoning(origin=ORIGIN, text="hm", signature="s")


class Encoder:
    """Encodes messages and remembers which."""

    def __init__(self) -> None:
        self.encoded: list[Message] = []

    def __call__(self, message: Message) -> bytes:
        self.encoded.append(message)
        return msgspec.json.encode(message)


def sent(history: WireHistory, asked: ModelRequest, encode: Encoder) -> list[Message]:
    settled, still_open = history.prepare(asked, origin=ORIGIN, encode=encode)
    decoded = [msgspec.json.decode(fragment, type=Message) for fragment in settled]
    return [*decoded, *still_open]


@settings(deadline=None)
@given(MESSAGES)
def test_a_growing_conversation_is_sent_as_if_it_were_new(messages: Sequence[Message]) -> None:
    history = WireHistory()

    for length in range(len(messages) + 1):
        asked = replace(request(), messages=tuple(messages[:length]))
        assert sent(history, asked, Encoder()) == arrange(asked.messages, origin=ORIGIN)


def test_one_more_step_when_the_history_is_long_encodes_no_old_message_again() -> None:
    history, encode = WireHistory(), Encoder()
    sent(history, request(*steps(100)), encode)
    encode.encoded.clear()

    sent(history, request(*steps(101)), encode)

    assert len(encode.encoded) == 2


def test_equal_messages_that_are_other_objects_count_as_the_same_conversation() -> None:
    history, encode = WireHistory(), Encoder()
    sent(history, request(*steps(100)), encode)
    copied = msgspec.json.decode(msgspec.json.encode(request(*steps(101))), type=ModelRequest)
    encode.encoded.clear()

    sent(history, copied, encode)

    assert len(encode.encoded) == 2


def test_a_rewritten_conversation_is_encoded_anew() -> None:
    history = WireHistory()
    sent(history, request(*steps(10)), Encoder())
    compacted = request(said("so far: ten steps"), answered(words("Yes.")), said("on"))

    assert sent(history, compacted, Encoder()) == list(compacted.messages)


def test_reasoning_stays_when_the_conversation_only_grew() -> None:
    history = WireHistory(binds_reasoning=True)
    first = request(said("go"), tools=(BASH,))
    sent(history, first, Encoder())
    grown = request(said("go"), answered(THOUGHT, call("a")), told(output("a")), tools=(BASH,))

    assert sent(history, grown, Encoder()) == list(grown.messages)


def test_reasoning_older_than_a_change_before_it_is_not_sent_again() -> None:
    old = (said("go"), answered(THOUGHT, call("a")), told(output("a")))
    new = (*old, answered(THOUGHT, words("yes")), said("on"))
    bare = [said("go"), answered(call("a")), told(output("a"))]
    for change in ({"system": "other"}, {"tools": (BASH,)}):
        history = WireHistory(binds_reasoning=True)
        sent(history, request(*old), Encoder())

        changed = sent(history, request(*old, **change), Encoder())
        grown = sent(history, request(*new, **change), Encoder())

        assert changed == bare
        assert grown == [*bare, *new[3:]]


def test_reasoning_after_a_rewritten_history_is_not_sent_again() -> None:
    history = WireHistory(binds_reasoning=True)
    kept = (answered(THOUGHT, call("a")), told(output("a")))
    sent(history, request(said("go"), *kept), Encoder())

    compacted = sent(history, request(said("summary"), *kept), Encoder())

    assert compacted == [said("summary"), answered(call("a")), told(output("a"))]


def test_reasoning_when_nothing_binds_it_survives_a_changed_prompt() -> None:
    history = WireHistory()
    conversation = (said("go"), answered(THOUGHT, words("yes")), said("on"))
    sent(history, request(*conversation), Encoder())

    again = sent(history, request(*conversation, system="other"), Encoder())

    assert again == list(conversation)


def test_dropped_reasoning_stays_dropped_and_newer_is_sent() -> None:
    history = WireHistory(binds_reasoning=True)
    conversation = (said("go"), answered(THOUGHT, words("yes")), said("on"))
    asked = request(*conversation)
    sent(history, asked, Encoder())

    history.drop_reasoning(asked, origin=ORIGIN)

    newer = replace(asked, messages=(*conversation, answered(THOUGHT, words("2")), said("3")))
    assert sent(history, newer, Encoder()) == [
        said("go"),
        answered(words("yes")),
        *newer.messages[2:],
    ]


def test_conversations_of_many_agents_do_not_mix() -> None:
    history = WireHistory()
    for round_length in (5, 6):
        for number in range(100):
            asked = request(said(f"task {number}"), *steps(round_length)[1:], agent=f"a{number}")
            assert sent(history, asked, Encoder()) == list(asked.messages)

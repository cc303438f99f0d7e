"""Whether a conversation is in pairs, and any conversation at all."""

from collections.abc import Sequence

from hypothesis import strategies as st

from modules.records.messages import Block, Message, Text, ToolCall, ToolOutput

CALL_IDS = st.sampled_from(["c1", "c2", "c3"])
WORDS = st.builds(Text, text=st.sampled_from(["a", "b", ""]))
CALLS = st.builds(ToolCall, call_id=CALL_IDS, name=st.just("bash"))
OUTPUTS = st.builds(ToolOutput, call_id=CALL_IDS, text=st.just("out"))
ANSWERS = st.lists(WORDS | CALLS, max_size=4).map(
    lambda blocks: Message(role="assistant", blocks=tuple(blocks))
)
REACTIONS = st.lists(WORDS | OUTPUTS, max_size=4).map(
    lambda blocks: Message(role="user", blocks=tuple(blocks))
)
HISTORIES = st.lists(ANSWERS | REACTIONS, max_size=8)


def assert_in_pairs(history: Sequence[Message]) -> None:
    """Fails unless each call is answered once, first thing in the very next message."""
    open_calls: list[str] = []
    for message in history:
        assert message.blocks
        if message.role == "user":
            assert [block.call_id for block in outputs(message)] == open_calls
            assert message.blocks[: len(open_calls)] == outputs(message)
            open_calls = []
        else:
            assert not open_calls
            assert not outputs(message)
            open_calls = list(dict.fromkeys(call.call_id for call in message.calls))


def outputs(message: Message) -> tuple[ToolOutput, ...]:
    """Returns the outputs of a message, in order."""
    return tuple(block for block in message.blocks if isinstance(block, ToolOutput))


def words(history: Sequence[Message]) -> list[Block]:
    """Returns every block that is no output, in order."""
    return [
        block
        for message in history
        for block in message.blocks
        if not isinstance(block, ToolOutput)
    ]

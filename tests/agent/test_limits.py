"""The same step again and again is counted; any other begins anew."""

import pytest

from modules.agent.limits import RepeatCount
from modules.records.messages import ToolCall

LS = ToolCall(call_id="1", name="bash", input={"command": "ls"})


def test_same_calls_in_a_row_are_counted_whatever_their_ids() -> None:
    repeats = RepeatCount()

    assert [
        repeats.count((LS,)),
        repeats.count((ToolCall(call_id="2", name="bash", input={"command": "ls"}),)),
        repeats.count((LS,)),
    ] == [1, 2, 3]


@pytest.mark.parametrize(
    "other",
    [
        (ToolCall(call_id="1", name="bash", input={"command": "ls "}),),
        (ToolCall(call_id="1", name="grep", input={"command": "ls"}),),
        (ToolCall(call_id="1", name="bash", input={"command": "ls"}, fault="cut off"),),
        (LS, LS),
        (),
    ],
)
def test_other_calls_begin_the_count_anew(other: tuple[ToolCall, ...]) -> None:
    repeats = RepeatCount()

    assert [repeats.count((LS,)), repeats.count(other), repeats.count((LS,))] == [1, 1, 1]

"""What a run's listeners are told of one agent's calls."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from modules.app.event_bus import EventBus
from modules.app.gatekeeping import SessionWatcher
from modules.context.session import Session
from modules.records.events import AnyEvent, CallEnded
from modules.records.messages import ToolCall
from modules.records.tooling import ToolResult
from modules.safety.ground import Ground
from modules.safety.permissions import Standing

AT = datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("one\ntwo", "one"),
        ("(no output)\n[exit code 3]", "[exit code 3]"),
        ("(no output)", ""),
        ("x" * 300, "x" * 199 + "…"),
    ],
)
def test_end_of_a_call_is_told_with_the_first_line_that_says_something(
    tmp_path: Path, text: str, shown: str
) -> None:
    events, heard = EventBus(lambda: AT), list[AnyEvent]()
    events.listen(heard.append)
    ground = Ground(root=tmp_path, main_checkout=tmp_path, home=tmp_path, user_folder=tmp_path)
    watcher = SessionWatcher(
        agent="w1",
        session=Session(tmp_path / "s.jsonl", clock=lambda: AT),
        events=events,
        standing=lambda: Standing(agent="w1", ground=ground),
    )

    call = ToolCall(call_id="c-1", name="bash", input={})
    watcher.ended(call, ToolResult(text=text, is_error=True))

    ended = CallEnded(at=AT, agent="w1", call_id="c-1", tool="bash", is_error=True, text=shown)
    assert heard == [ended]

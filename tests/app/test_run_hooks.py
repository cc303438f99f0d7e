"""Tests of modules/app/run_hooks.py with real hooks."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from modules.app.event_bus import EventBus
from modules.app.run_hooks import RunHooks
from modules.records.decisions import Mode
from modules.records.events import WorkerChanged
from modules.safety.hook_matching import Hook, HookEvent
from modules.safety.hooks import Caller, HookRunner
from tests.fakes.clock import FakeClock


def made(folder: Path, *hooks: Hook) -> RunHooks:
    caller = Caller(session_id="s1", transcript=folder / "s1", folder=folder, mode=Mode.DEFAULT)
    runner = HookRunner(hooks, project=folder, variables={"PATH": "/usr/bin:/bin"})
    return RunHooks(runner, events=EventBus(FakeClock()), caller=lambda: caller)


def hook(event: HookEvent, command: str, matcher: str = "") -> Hook:
    return Hook(event=event, matcher=matcher, command=command, source="test")


def heard(folder: Path) -> dict[str, Any]:
    told: dict[str, Any] = json.loads((folder / "heard").read_text())
    return told


@pytest.mark.parametrize(
    ("answer", "objection"),
    [
        ("exit 0", ""),
        ('echo \'{"decision": "approve"}\'', ""),
        ("echo not that >&2; exit 2", "not that"),
    ],
)
def test_objection_to_asking_when_a_hook_answers_then_only_its_no_counts(
    tmp_path: Path, answer: str, objection: str
) -> None:
    told = hook(HookEvent.PERMISSION_REQUEST, f"cat > heard; {answer}", "submit_work")

    async def ask() -> str:
        hooks = made(tmp_path, told)
        return await hooks.objection_to_asking(agent="w1", tool="submit_work", text="keys in a.py")

    assert asyncio.run(ask()) == objection
    assert (heard(tmp_path)["agent_id"], heard(tmp_path)["tool_input"]) == (
        "w1",
        {"text": "keys in a.py"},
    )


def test_take_event_when_a_worker_goes_idle_then_hooks_are_told(tmp_path: Path) -> None:
    async def run() -> None:
        hooks = made(tmp_path, hook(HookEvent.TEAMMATE_IDLE, "cat > heard"))
        for state in ("busy", "idle"):
            at = FakeClock()()
            hooks.take_event(WorkerChanged(at=at, worker="ada", role="backend", state=state))
        await hooks.end_session()

    asyncio.run(run())

    told = heard(tmp_path)
    assert (told["hook_event_name"], told["teammate_name"]) == ("TeammateIdle", "ada")

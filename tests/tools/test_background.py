"""background_run and check_background: what a model gets to see, and what is left of a command."""

import asyncio
import os
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

from modules.records.decisions import Risk, ShellSubject, ToolSubject
from modules.records.errors import ModelFault
from modules.records.tooling import ToolResult
from tests.tools.lanes import make_lane, processes_named
from tools.background import (
    BACKGROUND_TOOLS,
    BackgroundRunInput,
    CheckBackgroundInput,
    background_run,
    check_background,
)
from tools.background_commands import MOST_RUNNING, BackgroundCommands
from tools.command import OUTPUT_LIMIT
from tools.lane_context import LaneContext

Case = Callable[["Agent"], Coroutine[Any, Any, None]]


class Agent:
    """Whoever calls the tools, in a lane."""

    def __init__(self, lane: LaneContext, marker: str) -> None:
        self.lane = lane
        self.marker = marker
        self.told: list[str] = []
        lane.background = BackgroundCommands(self.told.append)

    async def run(self, command: str, life_seconds: float = 60) -> ToolResult:
        given = BackgroundRunInput(command=command, life_seconds=life_seconds)
        return await background_run(given, self.lane)

    async def check(self, name: str = "", **given: Any) -> str:
        return (await check_background(CheckBackgroundInput(task_id=name, **given), self.lane)).text

    def sleeper(self, launch: str = "{}") -> str:
        return launch.replace("{}", f"bash -c 'exec -a {self.marker} sleep 100'")

    def let_go(self) -> None:
        """Lets a command that waits for it go on."""
        (self.lane.root / "go").touch()


WAIT = "until [ -e go ]; do sleep 0.02; done"


@pytest.fixture
def agent(tmp_path: Path) -> Agent:
    return Agent(make_lane(tmp_path / "lane"), f"marked-{tmp_path.name}-{os.getpid()}")


def play(agent: Agent, case: Case) -> None:
    """Plays a case, after which nothing runs any more."""

    async def whole() -> None:
        try:
            await case(agent)
        finally:
            await agent.lane.background.stop_all()
            assert processes_named(agent.marker) == []

    asyncio.run(whole())


@pytest.mark.slow
def test_command_that_goes_on_then_shows_what_is_new_at_each_look(agent: Agent) -> None:
    async def case(agent: Agent) -> None:
        started = await agent.run(f"echo one; {WAIT}; echo two; sleep 60")
        assert started.text.splitlines()[1:] == ["one"]
        assert started.text.startswith("bg1 has run for 1 s: echo one; until")
        assert not started.is_error

        assert "(no new output)" in await agent.check("bg1")
        agent.let_go()
        looked = await agent.check("bg1", wait_for="output", wait_seconds=30)
        assert looked.splitlines()[1:] == ["two"]
        assert agent.lane.background.endings() == ""
        assert agent.told == []

    play(agent, case)


@pytest.mark.slow
def test_command_that_ends_then_is_told_once(agent: Agent) -> None:
    async def case(agent: Agent) -> None:
        await agent.run(f"{WAIT}; echo late; exit 3")
        assert not agent.lane.background.has_endings
        agent.let_go()
        await agent.lane.background.named("bg1").wait("end", 30)

        assert agent.lane.background.has_endings
        told = agent.lane.background.endings()
        assert told.startswith(
            "The background command bg1 ended with exit code 3, 5 characters of new output: until"
        )
        assert (agent.lane.background.endings(), agent.lane.background.has_endings) == ("", False)
        assert agent.told == [told.splitlines()[0].removeprefix("The background command ")]
        assert (await agent.check("bg1")).splitlines()[1:] == ["late", "[exit code 3]"]

    play(agent, case)


@pytest.mark.slow
def test_look_that_waits_for_the_end_then_has_told_it(agent: Agent) -> None:
    async def case(agent: Agent) -> None:
        await agent.run(f"{WAIT}; echo late")
        agent.let_go()
        looked = await agent.check("bg1", wait_seconds=30)

        assert looked.splitlines()[1:] == ["late"]
        assert "ended with exit code 0" in looked
        assert agent.lane.background.endings() == ""

    play(agent, case)


def test_command_that_fails_at_once_is_an_error_of_the_start(agent: Agent) -> None:
    async def case(agent: Agent) -> None:
        failed = await agent.run("echo no such port; exit 4")
        assert failed == ToolResult(
            text="bg1 ended with exit code 4: echo no such port; exit 4\n"
            "no such port\n[exit code 4]",
            is_error=True,
        )
        assert agent.lane.background.endings() == ""

    play(agent, case)


@pytest.mark.slow
@pytest.mark.parametrize(
    "launch",
    [
        pytest.param("{}", id="plain"),
        pytest.param("trap '' TERM; {}", id="ignores TERM"),
        pytest.param("setsid {} & wait", id="session of its own"),
    ],
)
def test_stop_ends_the_command_with_its_children(agent: Agent, launch: str) -> None:
    async def case(agent: Agent) -> None:
        await agent.run(agent.sleeper(launch))
        assert processes_named(agent.marker)

        stopped = await agent.check("bg1", stop=True)

        assert stopped.startswith("bg1 was stopped: ")
        assert processes_named(agent.marker) == []
        assert (agent.lane.background.endings(), agent.told) == ("", [])

    play(agent, case)


@pytest.mark.slow
def test_command_whose_life_is_over_is_ended(agent: Agent) -> None:
    async def case(agent: Agent) -> None:
        await agent.run(agent.sleeper(), life_seconds=1.2)
        looked = await agent.check("bg1", wait_seconds=30)

        assert "[timed out after 1.2 s; the command and its children were ended]" in looked
        assert processes_named(agent.marker) == []

    play(agent, case)


@pytest.mark.slow
def test_start_that_is_interrupted_leaves_nothing(agent: Agent) -> None:
    async def case(agent: Agent) -> None:
        start = asyncio.create_task(agent.run(agent.sleeper()))
        while not processes_named(agent.marker):
            await asyncio.sleep(0)
        start.cancel()
        with pytest.raises(asyncio.CancelledError):
            await start

        assert processes_named(agent.marker) == []

    play(agent, case)


@pytest.mark.slow
def test_one_command_too_many_is_refused_until_one_has_ended(agent: Agent) -> None:
    async def case(agent: Agent) -> None:
        await asyncio.gather(*(agent.run("sleep 60") for _ in range(MOST_RUNNING)))
        with pytest.raises(ModelFault, match=f"{MOST_RUNNING} commands run in the background"):
            await agent.run("touch one-more")
        assert not (agent.lane.root / "one-more").exists()

        await agent.check("bg3", stop=True)
        await agent.run("touch one-more; sleep 60")

        assert (agent.lane.root / "one-more").exists()
        lines = (await agent.check()).splitlines()
        assert [line.split()[0] for line in lines] == [
            f"bg{n + 1}" for n in range(MOST_RUNNING + 1)
        ]
        assert [line for line in lines if "was stopped" in line] == ["bg3 was stopped: sleep 60"]

    play(agent, case)


@pytest.mark.slow
def test_output_nobody_looks_at_is_bounded(agent: Agent) -> None:
    async def case(agent: Agent) -> None:
        await agent.run(f"{WAIT}; seq 0 19999")
        agent.let_go()
        looked = await agent.check("bg1", wait_seconds=30)

        assert len(looked) < OUTPUT_LIMIT + 500
        whole = agent.lane.outputs / "background-bg1.txt"
        assert f"the whole text is in {whole}" in looked
        assert whole.read_text() == "".join(f"{number}\n" for number in range(20_000))

    play(agent, case)


def test_name_nobody_knows_is_told_with_those_there_are(agent: Agent) -> None:
    async def case(agent: Agent) -> None:
        assert await agent.check() == "You have started none."
        await agent.run("true")
        with pytest.raises(ModelFault, match="no background command 'bg7'; you have: bg1"):
            await agent.check("bg7")

    play(agent, case)


def test_command_goes_through_the_sandbox_and_is_judged_as_a_command_line(agent: Agent) -> None:
    async def case(agent: Agent) -> None:
        agent.lane.wrap = lambda argv: ["env", "JAILED=yes", *argv]
        assert "\nyes" in (await agent.run("echo $JAILED")).text

    play(agent, case)
    run, check = BACKGROUND_TOOLS
    assert run.subject(BackgroundRunInput(command="ls")) == ShellSubject(command="ls")
    assert check.subject(CheckBackgroundInput(task_id="bg1")) == ToolSubject(
        risk=Risk.SAFE, text="bg1"
    )

"""How a sub-agent stands below its caller, on a real run whose crew is not at work."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from modules.agent.tool_pool import ToolPool
from modules.app.remote_subagents import RemoteSubAgents
from modules.app.run import Run
from modules.app.subagents import SubAgents, Superior
from modules.context.session import Session
from modules.records.decisions import Mode
from modules.records.messages import ToolCall
from modules.records.settings import Rules, RuleText
from modules.records.tooling import ToolResult
from modules.safety.ground import Ground
from modules.safety.permissions import Standing
from modules.team.broker import WorkerBroken
from tests.app.runs import with_run
from tests.scenarios.programs import make_repository
from tools.subagent import EXPLORE_TOOLS, MOST_AT_ONCE, SubagentInput

EXPLORE = SubagentInput(prompt="look")
GENERAL = SubagentInput(prompt="do", kind="general")


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CREWYARD_SANDBOX", "off")
    return make_repository(tmp_path / "sample", {"README.md": "a sample\n"})


class Caller:
    """A worker that may have sub-agents."""

    def __init__(self, run: Run, *, allowed: tuple[str, ...] | None = None) -> None:
        house = run.house
        self.sessions = house.paths.sessions
        self.standing = Standing(
            agent="w1",
            is_worker=True,
            is_jailed=True,
            mode=Mode.AUTO,
            rules=Rules(deny=(RuleText(text="Bash(make *)", source="the role"),)),
            ground=Ground(
                root=house.paths.root,
                main_checkout=house.paths.root,
                home=house.environment.home,
                user_folder=house.environment.user_folder,
                is_worker=True,
            ),
        )
        superior = Superior(
            session=Session(self.sessions / "t1-1.jsonl", clock=house.clock),
            model="",
            task=None,
            standing=lambda: self.standing,
            lane=None,
            crew=run.crew,
            allowed=allowed,
        )
        self.subagents = SubAgents(house, superior)

    def names_of(self, given: SubagentInput) -> set[str]:
        """Returns the tools a sub-agent is told of."""
        return {spec.name for spec in self.subagents.make(given).pool.specs()}


async def refusal(pool: ToolPool, call: ToolCall) -> str:
    """Returns why a call may not run; empty when it may."""
    opened = await pool.open(call)
    return opened.text if isinstance(opened, ToolResult) else ""


def bash(command: str) -> ToolCall:
    return ToolCall(call_id="c1", name="bash", input={"command": command})


def test_explore_reads_and_nothing_else(repository: Path) -> None:
    async def story(run: Run) -> None:
        made = Caller(run).subagents.make(EXPLORE)

        assert {spec.name for spec in made.pool.specs()} == EXPLORE_TOOLS
        assert await refusal(made.pool, bash("ls")) == ""
        assert "you were made to read only" in await refusal(made.pool, bash("touch x"))
        write = ToolCall(call_id="c2", name="write_file", input={"path": "x", "content": ""})
        assert "There is no tool 'write_file'" in await refusal(made.pool, write)
        assert made.subagents is None

    with_run(repository, story, mode="yolo")


def test_general_has_the_callers_tools_but_not_those_of_its_task(repository: Path) -> None:
    async def story(run: Run) -> None:
        names = Caller(run).names_of(GENERAL)

        assert {"bash", "write_file", "background_run", "web_fetch", "subagent"} <= names
        assert {"submit_work", "ask_lead", "send_message", "board_post_task"}.isdisjoint(names)
        few = Caller(run, allowed=("read_file", "write_file")).names_of(GENERAL)
        assert few == {"read_file", "write_file"}
        assert Caller(run, allowed=("read_file", "write_file")).names_of(EXPLORE) == {"read_file"}

    with_run(repository, story, mode="yolo")


def test_callers_rules_hold_and_a_mode_that_is_lowered_lowers_it_at_once(
    repository: Path,
) -> None:
    async def story(run: Run) -> None:
        caller = Caller(run)
        pool = caller.subagents.make(GENERAL).pool

        assert await refusal(pool, bash("touch x")) == ""
        assert "the rule Bash(make *)" in await refusal(pool, bash("make all"))
        caller.standing = replace(caller.standing, mode=Mode.PLAN)
        assert "plan mode only reads" in await refusal(pool, bash("touch x"))

    with_run(repository, story, mode="auto")


def test_sub_agent_of_a_sub_agent_has_none_of_its_own(repository: Path) -> None:
    async def story(run: Run) -> None:
        below = Caller(run).subagents.make(GENERAL).subagents
        assert below is not None
        deepest = below.make(GENERAL)

        assert deepest.subagents is None
        call = ToolCall(call_id="c1", name="subagent", input={"prompt": "more"})
        assert "There is no tool 'subagent'" in await refusal(deepest.pool, call)

    with_run(repository, story)


def test_no_name_is_given_twice_not_even_by_a_later_lead(repository: Path) -> None:
    async def story(run: Run) -> None:
        for given in (EXPLORE, GENERAL, EXPLORE):
            made = Caller(run).subagents.make(given)
            await made.close()

        assert sorted(path.stem for path in Caller(run).sessions.glob("sub-*")) == [
            "sub-t1-1-explore-1",
            "sub-t1-1-explore-2",
            "sub-t1-1-general-1",
        ]

    with_run(repository, story)


def test_worker_speaks_for_sub_agents_that_passed_the_gate_and_for_no_other(
    repository: Path,
) -> None:
    async def story(run: Run) -> None:
        remote = RemoteSubAgents(Caller(run).subagents)
        with pytest.raises(WorkerBroken, match="speaks for a sub-agent that is not there"):
            remote.at(("c1",))

        remote.begin(("c1",), GENERAL)
        remote.begin(("c1", "c2"), EXPLORE)

        assert remote.at(("c1",)).pool is not remote.at(("c1", "c2")).pool
        for number in range(1, MOST_AT_ONCE):
            remote.begin((f"d{number}",), EXPLORE)
        one_too_many = (f"d{MOST_AT_ONCE}",)
        for via in (("c1",), ("c1", "c2", "c3"), ("c9", "c2"), one_too_many):
            with pytest.raises(WorkerBroken):
                remote.begin(via, EXPLORE)
        await remote.end(("c1", "c2"))
        with pytest.raises(WorkerBroken):
            remote.at(("c1", "c2"))
        await remote.end_all()
        with pytest.raises(WorkerBroken):
            remote.at(("c1",))

    with_run(repository, story)


def test_sub_agents_below_one_end_with_it_and_stand_nowhere_then(repository: Path) -> None:
    async def story(run: Run) -> None:
        at_work = RemoteSubAgents(Caller(run).subagents)
        at_work.begin(("c1",), GENERAL)
        at_work.begin(("c1", "c2"), EXPLORE)
        at_work.begin(("c3",), EXPLORE)

        await at_work.end(("c1",))

        for via in (("c1",), ("c1", "c2")):
            with pytest.raises(WorkerBroken, match="not there"):
                at_work.at(via)
        assert set(run.house.standings) == {"w1/explore-2"}
        await at_work.end_all()
        assert not run.house.standings

    with_run(repository, story)

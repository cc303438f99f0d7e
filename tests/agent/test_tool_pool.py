"""The one door: every step in its order, and whatever fails says no."""

import asyncio
import dataclasses
import hashlib
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any, Literal

import pytest
from msgspec.structs import replace

from modules.agent.tool_pool import Cleared, PooledTool, ToolPool, pooled
from modules.records.decisions import Behavior, Mode, Risk, ShellSubject, Subject, ToolSubject
from modules.records.errors import ModelFault
from modules.records.messages import ToolCall
from modules.records.record import Record
from modules.records.settings import Rules, RuleText
from modules.records.tooling import Place, ToolResult
from modules.safety.ground import Ground
from modules.safety.hook_verdict import HookOutcome
from modules.safety.permissions import PermissionManager, Standing
from tests.fakes.gate import FakeAsker, FakeHooks, FakeWatcher, Order, marked


class Knock(Record):
    """Input of a tool."""

    risk: Literal["safe", "write", "dangerous", "critical", "deny"] = "safe"
    text: str = ""


class Command(Record):
    """Input of a shell."""

    command: str


class Door:
    """A pool with two tools, and everything that stands round it."""

    def __init__(self, folder: Path, *, rules: Rules | None = None, mode: Mode = Mode.AUTO) -> None:
        self.order = Order()
        self.hooks = FakeHooks(self.order)
        self.asker = FakeAsker(self.order)
        self.watcher = FakeWatcher(self.order)
        self.act: Callable[[Knock], ToolResult] = lambda given: ToolResult(text=f"did {given.text}")
        self.made = folder / "made"
        self.tools: dict[str, PooledTool] = {
            "knock": pooled(
                "knock",
                "Knocks.",
                Knock,
                place=Place.LEAD,
                subject=lambda given: ToolSubject(risk=Risk(given.risk), text=given.text),
                run=self._run,
            ),
            "bash": pooled(
                "bash",
                "Runs a command.",
                Command,
                place=Place.LANE,
                subject=self._shell_subject,
                run=None,
            ),
        }
        standing = Standing(
            agent="lead",
            mode=mode,
            ground=Ground(
                root=folder, main_checkout=folder, home=folder / "home", user_folder=folder / "user"
            ),
        )
        self.permissions = PermissionManager(rules or Rules(), mode=mode, store=lambda rule: None)
        self.pool = ToolPool(
            lambda: self.tools,
            standing=lambda: standing,
            permissions=self.permissions,
            hooks=self.hooks,
            asker=self.asker,
            watcher=self.watcher,
            trim=marked(self.order),
            clock=count().__next__,
        )

    async def _run(self, given: Knock) -> ToolResult:
        self.order.steps.append(f"ran {given.text}")
        self.made.write_text(given.text)
        return self.act(given)

    def _shell_subject(self, given: Command) -> Subject:
        return ShellSubject(command=given.command)

    def run(self, name: str = "knock", fault: str = "", **given: Any) -> ToolResult:
        """Takes a call through the door."""
        call = ToolCall(call_id="c1", name=name, input=given, fault=fault)
        return asyncio.run(self.pool.run(call))


@pytest.fixture
def door(tmp_path: Path) -> Door:
    return Door(tmp_path)


def rule(text: str) -> tuple[RuleText, ...]:
    return (RuleText(text=text, source="team.toml"),)


def refused(text: str) -> ToolResult:
    return ToolResult(text=text, is_error=True)


def test_safe_call_takes_every_step_in_order(door: Door) -> None:
    assert door.run(text="a") == ToolResult(text="did a")
    assert door.order.steps == [
        "hooks before {'text': 'a'}",
        "decided allow",
        "started",
        "ran a",
        "hooks after did a, 1 s",
        "trimmed c1",
        "ended",
    ]
    assert door.watcher.ends == [ToolResult(text="did a")]
    assert door.watcher.hashes == [hashlib.sha256(b'{"text":"a"}').hexdigest()]


def test_risky_call_is_asked_about_and_a_yes_lets_it_run(door: Door) -> None:
    door.asker.answer = Behavior.ALLOW

    assert door.run(risk="dangerous", text="a") == ToolResult(text="did a")
    assert [step.split(":")[0] for step in door.order.steps[:3]] == [
        "hooks before {'risk'",
        "asked about {'risk'",
        "decided allow",
    ]
    assert door.watcher.decisions[0].source == "person"


@pytest.mark.parametrize("answer", [Behavior.DENY, Behavior.ASK])
def test_risky_call_without_a_yes_does_not_run(door: Door, answer: Behavior) -> None:
    door.asker.answer = answer

    result = door.run(risk="dangerous", text="a")

    assert result.is_error
    assert result.text.startswith("Permission denied: ")
    assert not door.made.exists()
    assert [decision.behavior for decision in door.watcher.decisions] == [answer]


@pytest.mark.parametrize("mode", list(Mode))
def test_denied_call_goes_no_further_in_any_mode(tmp_path: Path, mode: Mode) -> None:
    door = Door(tmp_path, mode=mode)
    door.asker.answer = Behavior.ALLOW
    door.hooks.says_before = HookOutcome(behavior="allow", why="fine", updated_input={})

    result = door.run(risk="deny", text="a")

    assert result.is_error
    assert door.order.steps == ["decided deny"]
    assert not door.made.exists()


def test_deny_rule_stops_a_call_before_hooks_and_person(tmp_path: Path) -> None:
    door = Door(tmp_path, rules=Rules(deny=rule("knock")))

    assert "the rule knock in team.toml denies it" in door.run().text
    assert door.order.steps == ["decided deny"]


def test_hook_that_says_no_stops_a_call_that_was_allowed(door: Door) -> None:
    door.hooks.says_before = HookOutcome(behavior="deny", why="not on Fridays")

    assert door.run(text="a") == refused("Permission denied: not on Fridays")
    assert not door.made.exists()
    assert door.order.steps == ["hooks before {'text': 'a'}", "decided deny"]


def test_hook_that_asks_has_the_person_asked(door: Door) -> None:
    door.hooks.says_before = HookOutcome(behavior="ask", why="look twice")

    door.run(text="a")

    assert door.order.steps[1:] == ["asked about {'text': 'a'}: look twice", "decided deny"]


def test_hook_that_says_yes_spares_a_plain_question_and_lifts_no_floor(door: Door) -> None:
    door.hooks.says_before = HookOutcome(behavior="allow", why="known")

    plain = door.run(risk="dangerous", text="a")
    critical = door.run(risk="critical", text="b")

    assert plain == ToolResult(text="did a")
    assert critical.text == "Permission denied: the person said no"
    assert door.made.read_text() == "a"


@pytest.mark.parametrize("mode", [Mode.AUTO, Mode.YOLO])
def test_yes_to_a_call_that_was_open_when_plan_mode_began_does_not_count(
    tmp_path: Path, mode: Mode
) -> None:
    door = Door(tmp_path, mode=mode)
    door.asker.answer = Behavior.ALLOW
    door.asker.meanwhile = lambda: door.permissions.set_mode(Mode.PLAN)

    result = door.run(risk="critical", text="a")

    assert result.is_error
    assert "plan mode only reads" in result.text
    assert not door.made.exists()
    assert door.watcher.decisions[0].source == "mode"


def test_mode_lowered_while_hooks_ran_is_the_mode_the_call_is_decided_in(tmp_path: Path) -> None:
    door = Door(tmp_path, mode=Mode.YOLO)
    allowed = door.run(risk="dangerous", text="a")
    door.made.unlink()
    door.hooks.meanwhile = lambda: door.permissions.set_mode(Mode.PLAN)

    result = door.run(risk="dangerous", text="a")

    assert not allowed.is_error
    assert result.is_error
    assert "plan mode only reads" in result.text
    assert not door.made.exists()


def test_plan_mode_offers_only_tools_that_may_be_safe_also_when_it_begins_later(
    tmp_path: Path,
) -> None:
    door = Door(tmp_path, mode=Mode.YOLO)
    door.tools["change"] = dataclasses.replace(
        door.tools["knock"],
        spec=replace(door.tools["knock"].spec, name="change"),
        least_risk=Risk.WRITE,
    )

    before = [spec.name for spec in door.pool.specs()]
    door.permissions.set_mode(Mode.PLAN)

    assert before == ["bash", "change", "knock"]
    assert [spec.name for spec in door.pool.specs()] == ["bash", "knock"]


def test_input_a_hook_changed_is_what_is_judged_asked_about_and_run(door: Door) -> None:
    door.hooks.says_before = HookOutcome(updated_input={"risk": "dangerous", "text": "b"})
    door.asker.answer = Behavior.ALLOW

    result = door.run(text="a")

    assert result == ToolResult(text="did b")
    assert door.order.steps[1].startswith("asked about {'risk': 'dangerous', 'text': 'b'}")
    assert door.watcher.hashes == [hashlib.sha256(b'{"risk":"dangerous","text":"b"}').hexdigest()]


def test_input_a_hook_made_worse_is_denied_even_when_the_hook_says_yes(door: Door) -> None:
    door.hooks.says_before = HookOutcome(
        behavior="allow", why="fine", updated_input={"risk": "deny", "text": "b"}
    )

    assert door.run(text="a").is_error
    assert not door.made.exists()
    assert [decision.behavior for decision in door.watcher.decisions] == [Behavior.DENY]


def test_input_a_hook_broke_is_told_and_not_run(door: Door) -> None:
    door.hooks.says_before = HookOutcome(updated_input={"txt": "b"})

    result = door.run(text="a")

    assert result.is_error
    assert result.text.startswith("A hook changed the input: The input of knock does not fit")
    assert door.watcher.ends == [result]
    assert not door.made.exists()


def test_input_of_a_hook_with_half_a_character_is_mended(door: Door) -> None:
    door.hooks.says_before = HookOutcome(updated_input={"text": "b\ud800"})

    assert door.run(text="a") == ToolResult(text="did b\ufffd")


@pytest.mark.parametrize(
    ("name", "fault", "given", "message"),
    [
        ("knok", "", {}, "There is no tool 'knok'. The tools are: bash, knock."),
        ("knock", "The output limit cut this call off.", {}, "The output limit cut this call off."),
        ("knock", "", {"txt": "a"}, "The input of knock does not fit"),
        ("knock", "", {"risk": "none"}, "Invalid enum value 'none' - at `$.risk`"),
        ("bash", "", {}, "Object missing required field `command`"),
    ],
)
def test_call_that_can_not_be_run_as_it_came_is_told_why_and_meets_nobody(
    door: Door, name: str, fault: str, given: dict[str, Any], message: str
) -> None:
    result = door.run(name, fault, **given)

    assert result.is_error
    assert message in result.text
    assert door.order.steps == ["ended"]
    assert door.watcher.ends == [result]


def test_fault_of_the_model_inside_a_tool_is_its_result(door: Door) -> None:
    def fail(given: Knock) -> ToolResult:
        raise ModelFault("There is no door.")

    door.act = fail

    assert door.run(text="a") == refused("There is no door.")
    assert door.order.steps[-3:] == ["hooks after There is no door., 1 s", "trimmed c1", "ended"]


def test_bug_of_a_tool_is_not_swallowed(door: Door) -> None:
    def fail(given: Knock) -> ToolResult:
        raise LookupError("a bug")

    door.act = fail

    with pytest.raises(LookupError, match="a bug"):
        door.run(text="a")


def test_tool_of_another_process_does_not_run_here(door: Door) -> None:
    door.asker.answer = Behavior.ALLOW

    assert door.run("bash", command="ls") == refused("bash can't run in this process.")


def test_call_is_opened_and_closed_apart_when_it_runs_elsewhere(door: Door) -> None:
    async def open_and_close() -> ToolResult:
        opened = await door.pool.open(ToolCall(call_id="c1", name="bash", input={"command": "ls"}))
        assert isinstance(opened, Cleared)
        assert opened.input == Command(command="ls")
        door.order.steps.append("runs elsewhere")
        return await door.pool.close(opened, ToolResult(text="a b"))

    assert asyncio.run(open_and_close()) == ToolResult(text="a b")
    assert door.order.steps == [
        "hooks before {'command': 'ls'}",
        "decided allow",
        "started",
        "runs elsewhere",
        "hooks after a b, 1 s",
        "trimmed c1",
        "ended",
    ]


def test_words_of_hooks_stand_round_the_result_and_secrets_in_all_of_it_are_masked(
    door: Door,
) -> None:
    door.hooks.says_before = HookOutcome(context="mind s3cret", warnings=("slow hook",))
    door.hooks.says_after = HookOutcome(
        behavior="deny", why="untidy", context="tidy up", warnings=("old hook",)
    )
    door.act = lambda given: ToolResult(text="out s3cret", ends_turn=True)

    assert door.run(text="a") == ToolResult(
        text="mind ***\nout ***\ntidy up\nA hook objects: untidy", ends_turn=True
    )
    assert door.watcher.warnings == ["slow hook", "old hook"]


@pytest.mark.parametrize("text", ["", " \n"])
def test_silent_result_says_that_there_was_nothing(door: Door, text: str) -> None:
    door.act = lambda given: ToolResult(text=text)

    assert door.run(text="a") == ToolResult(text="(no output)")


def test_result_with_half_a_character_is_mended_for_model_and_watcher(door: Door) -> None:
    door.act = lambda given: ToolResult(text="caf\udce9")

    assert door.run(text="a") == ToolResult(text="caf\ufffd")
    assert door.watcher.ends == [ToolResult(text="caf\ufffd")]


def test_call_that_is_cancelled_as_it_runs_is_shown_as_ended(door: Door) -> None:
    async def cancel_midway() -> None:
        begun = asyncio.Event()

        async def hang(given: Record) -> ToolResult:
            begun.set()
            await asyncio.get_running_loop().create_future()
            return ToolResult(text="never")

        door.tools["knock"] = pooled(
            "knock",
            "Knocks.",
            Knock,
            place=Place.LEAD,
            subject=lambda given: ToolSubject(risk=Risk.SAFE),
            run=hang,
        )
        running = asyncio.create_task(door.pool.run(ToolCall(call_id="c1", name="knock")))
        await begun.wait()
        running.cancel()
        await asyncio.wait([running])
        assert running.cancelled()

    asyncio.run(cancel_midway())

    assert door.watcher.ends == [refused("The call was interrupted.")]
    assert door.order.steps[-2:] == ["started", "ended"]


def test_specs_are_told_in_a_stable_order_and_follow_the_tools(door: Door) -> None:
    names = [spec.name for spec in door.pool.specs()]
    del door.tools["bash"]

    assert names == ["bash", "knock"]
    assert [spec.name for spec in door.pool.specs()] == ["knock"]
    assert door.pool.specs()[0].input_schema["properties"]["text"] == {
        "type": "string",
        "default": "",
    }


def test_hook_that_replaces_a_result_is_read_instead_of_it(door: Door) -> None:
    door.hooks.says_after = HookOutcome(updated_output="all of it s3cret", context="and this")

    result = door.run(text="a")

    assert result == ToolResult(text="all of it ***\nand this")
    assert door.made.read_text() == "a"

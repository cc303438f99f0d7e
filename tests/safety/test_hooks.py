"""Real hooks, each a small shell script; what they did is looked for on disk."""

import asyncio
import json
import os
import select
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from modules.records.decisions import Mode
from modules.records.messages import ToolCall
from modules.records.tooling import ToolResult
from modules.safety.hook_matching import Hook, HookEvent
from modules.safety.hook_verdict import HookOutcome
from modules.safety.hooks import Caller, HookRunner

BEFORE, AFTER = HookEvent.PRE_TOOL_USE, HookEvent.POST_TOOL_USE
CALL = ToolCall(call_id="c1", name="bash", input={"command": "ls"})
PATH = os.environ["PATH"]


@dataclass(frozen=True, slots=True)
class Desk:
    """A project with a lane, and hooks that run in it."""

    project: Path
    lane: Path

    @property
    def caller(self) -> Caller:
        return Caller(
            session_id="s1",
            transcript=self.project / "s1.jsonl",
            folder=self.lane,
            mode=Mode.YOLO,
            agent="w1",
            role="backend",
        )

    def runner(self, *hooks: Hook, variables: Mapping[str, str] | None = None) -> HookRunner:
        return HookRunner(
            hooks, project=self.project, variables={"PATH": PATH, **(variables or {})}
        )

    def before(self, *hooks: Hook, call: ToolCall = CALL, **options: Any) -> HookOutcome:
        return asyncio.run(self.runner(*hooks, **options).before_tool(call, self.caller))

    def written(self, name: str) -> str:
        return (self.project / name).read_text()


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    project = tmp_path / "My Proj ä (1)"
    lane = project / ".worktrees" / "one"
    lane.mkdir(parents=True)
    return Desk(project, lane)


def hook(command: str, event: HookEvent = BEFORE, **fields: Any) -> Hook:
    return Hook(event=event, **{"matcher": "", "command": command, "source": "here"} | fields)


# -- answers (HOK-01) --


def test_no_hooks_have_no_opinion(desk: Desk) -> None:
    assert desk.before() == HookOutcome()


def test_exit_two_alone_blocks(desk: Desk) -> None:
    outcome = desk.before(hook("exit 2"))

    assert outcome == HookOutcome("deny", "The hook 'exit 2' (here) says no.")


def test_exit_two_wins_over_an_allowing_hook(desk: Desk) -> None:
    allow = hook('echo \'{"decision": "approve"}\'')

    outcome = desk.before(allow, hook("echo because >&2; exit 2"), allow)

    assert outcome == HookOutcome("deny", "because")


def test_hook_killed_by_a_signal_lets_the_call_go_on_with_a_warning(desk: Desk) -> None:
    outcome = desk.before(hook("kill -9 $$"))

    assert outcome.behavior == "none"
    assert "signal 9" in outcome.warnings[0]


def test_objection_after_a_tool_is_told(desk: Desk) -> None:
    runner = desk.runner(hook("echo look again >&2; exit 2", AFTER))

    outcome = asyncio.run(
        runner.after_tool(CALL, ToolResult(text="done"), desk.caller, seconds=0.0)
    )

    assert outcome == HookOutcome("deny", "look again")


def test_failed_call_runs_the_hooks_for_failures_too(desk: Desk) -> None:
    failure = HookEvent.POST_TOOL_USE_FAILURE
    runner = desk.runner(hook("touch after", AFTER), hook("touch failed", failure))

    asyncio.run(runner.after_tool(CALL, ToolResult(text="ok"), desk.caller, seconds=0.0))
    assert not (desk.project / "failed").exists()
    asyncio.run(
        runner.after_tool(CALL, ToolResult(text="bad", is_error=True), desk.caller, seconds=0.0)
    )

    assert (desk.project / "after").exists()
    assert (desk.project / "failed").exists()


# -- failures (HOK-02) --


@pytest.mark.slow
def test_hook_over_its_time_is_ended_with_its_whole_group(desk: Desk) -> None:
    slow = hook("sleep 600 & echo $! > pid; sleep 600", timeout_seconds=1.0)
    started = time.monotonic()

    outcome = desk.before(slow)

    assert time.monotonic() - started < 10
    assert outcome.behavior == "none"
    assert "did not end within 1 s" in outcome.warnings[0]
    assert has_ended(int(desk.written("pid")))


@pytest.mark.slow
def test_hook_that_ignores_signals_is_ended_too(desk: Desk) -> None:
    outcome = desk.before(hook("trap '' TERM INT HUP; sleep 600; sleep 600", timeout_seconds=0.5))

    assert "did not end within 0.5 s" in outcome.warnings[0]


@pytest.mark.slow
def test_background_child_that_holds_the_output_delays_nothing(desk: Desk) -> None:
    started = time.monotonic()

    outcome = desk.before(hook('sleep 600 & echo $! > pid; echo \'{"decision": "block"}\''))

    assert time.monotonic() - started < 10
    assert outcome.behavior == "deny"
    assert has_ended(int(desk.written("pid")))


def test_hook_that_can_not_be_started_is_a_warning_or_a_no(desk: Desk) -> None:
    (desk.project / "plain").write_text("#!/bin/sh\nexit 0\n")

    for missing in (
        hook("/no/such/program", args=()),
        hook("./plain", args=()),
        hook("./plain"),
        hook("no-such-program"),
    ):
        lenient = desk.before(missing)
        strict = desk.before(
            Hook(
                event=BEFORE,
                matcher="",
                command=missing.command,
                source="here",
                args=missing.args,
                blocks_on_failure=True,
            )
        )

        assert lenient.behavior == "none"
        assert len(lenient.warnings) == 1
        assert strict.behavior == "deny"
        assert strict.warnings == lenient.warnings


def test_cancelled_hook_is_ended(desk: Desk) -> None:
    async def cancel() -> None:
        run = desk.runner(hook("echo $$ > pid; exec sleep 600")).before_tool(CALL, desk.caller)
        task = asyncio.create_task(run)
        while not (desk.project / "pid").exists() or not desk.written("pid"):
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancel())

    assert has_ended(int(desk.written("pid")))


def has_ended(pid: int) -> bool:
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([descriptor], [], [], 10)[0])
    finally:
        os.close(descriptor)


# -- where and with what (HOK-03) --


def test_hook_runs_in_the_main_checkout_whose_path_has_blanks(desk: Desk) -> None:
    script = desk.project / "h.sh"
    script.write_text('#!/bin/sh\npwd > "$1"\n')
    script.chmod(0o755)

    quoted = desk.before(hook('"$CLAUDE_PROJECT_DIR/h.sh" quoted'))
    relative = desk.before(hook("./h.sh relative"))
    own_name = desk.before(hook('"$CREWYARD_PROJECT_DIR"/h.sh own_name'))
    unquoted = desk.before(hook("$CLAUDE_PROJECT_DIR/h.sh unquoted"))

    assert [outcome.warnings for outcome in (quoted, relative, own_name)] == [(), (), ()]
    assert [desk.written(name) for name in ("quoted", "relative", "own_name")] == [
        f"{desk.project}\n"
    ] * 3
    assert len(unquoted.warnings) == 1
    assert not (desk.project / "unquoted").exists()


def test_variable_that_begins_alike_is_left_alone(desk: Desk) -> None:
    desk.before(hook('echo "[$CLAUDE_PROJECT_DIRS]" > out'))

    assert desk.written("out") == "[]\n"


def test_program_with_arguments_gets_them_as_they_are(desk: Desk) -> None:
    desk.before(hook("/bin/sh", args=("-c", 'printf "%s|" "$@" > out', "sh", "a b", "$HOME", "*")))

    assert desk.written("out") == "a b|$HOME|*|"


def test_payload_and_environment_tell_the_moment(desk: Desk) -> None:
    keeps = "cat > payload; env > variables"
    variables = {"HOME": "/home/ada", "ANTHROPIC_API_KEY": "k", "GIT_DIR": "/x", "LD_PRELOAD": ""}
    call = ToolCall(call_id="c9", name="write_file", input={"path": "a/b.txt", "content": "ä"})
    runner = desk.runner(hook(keeps, AFTER, matcher="write_file"), variables=variables)

    asyncio.run(runner.after_tool(call, ToolResult(text="Wrote it"), desk.caller, seconds=0.25))

    assert json.loads(desk.written("payload")) == {
        "session_id": "s1",
        "transcript_path": str(desk.project / "s1.jsonl"),
        "cwd": str(desk.lane),
        "permission_mode": "bypassPermissions",
        "hook_event_name": "PostToolUse",
        "agent_id": "w1",
        "agent_type": "backend",
        "tool_name": "write_file",
        "tool_input": {"path": str(desk.lane / "a/b.txt"), "content": "ä"},
        "tool_use_id": "c9",
        "tool_response": {"text": "Wrote it", "is_error": False},
        "duration_ms": 250,
    }
    environment = dict(line.partition("=")[::2] for line in desk.written("variables").splitlines())
    for name in ("PWD", "_", "SHLVL", "OLDPWD"):
        environment.pop(name, None)
    assert json.loads(environment.pop("HOOK_TOOL_INPUT")) == call.input
    assert environment == {
        "PATH": PATH,
        "HOME": "/home/ada",
        "HOOK_EVENT": "PostToolUse",
        "HOOK_TOOL_NAME": "write_file",
        "HOOK_TOOL_OUTPUT": "Wrote it",
        "CLAUDE_PROJECT_DIR": str(desk.project),
        "CREWYARD_PROJECT_DIR": str(desk.project),
    }


def test_hook_written_for_claude_code_hears_its_names_and_its_change_is_ours(desk: Desk) -> None:
    rewrites = (
        "import json, sys\n"
        "payload = json.load(sys.stdin)\n"
        "assert payload['tool_name'] == 'Write', payload\n"
        "changed = payload['tool_input'] | {'content': 'changed'}\n"
        "print(json.dumps({'hookSpecificOutput': {'updatedInput': changed}}))\n"
    )
    call = ToolCall(call_id="c1", name="write_file", input={"path": "a.txt", "content": "x"})

    outcome = desk.before(
        hook(sys.executable, args=("-c", rewrites), matcher="Write|Edit"), call=call
    )

    assert outcome.warnings == ()
    assert outcome.updated_input == {"path": str(desk.lane / "a.txt"), "content": "changed"}


# -- which hooks --


def test_only_hooks_whose_matcher_meets_the_tool_run(desk: Desk) -> None:
    desk.before(
        hook("touch one", matcher="bash"),
        hook("touch two", matcher="Bash"),
        hook("touch three", matcher="edit_file"),
        hook("touch four", AFTER),
    )

    assert sorted(path.name for path in desk.project.iterdir()) == [".worktrees", "one", "two"]


def test_equal_hooks_run_once_and_all_at_the_same_time(desk: Desk) -> None:
    os.mkfifo(desk.project / "pipe")
    counts = hook("echo x >> count")

    outcome = desk.before(
        counts,
        counts,
        hook("echo y > pipe", timeout_seconds=20.0),
        hook("read x < pipe; echo $x > read", timeout_seconds=20.0),
    )

    assert outcome.warnings == ()
    assert desk.written("count") == "x\n"
    assert desk.written("read") == "y\n"


def test_of_equal_hooks_the_stricter_counts(desk: Desk) -> None:
    lenient, strict = hook("exit 1"), hook("exit 1", blocks_on_failure=True)

    assert desk.before(strict, lenient).behavior == "deny"
    assert desk.before(lenient, strict).behavior == "deny"


def test_condition_is_asked_of_the_rules(desk: Desk) -> None:
    asked = []

    def meets(rule: str, call: ToolCall) -> bool:
        asked.append((rule, call))
        return rule == "Bash(ls)"

    hooks = (hook("touch one", condition="Bash(ls)"), hook("touch two", condition="Bash(rm *)"))

    asyncio.run(desk.runner(*hooks).before_tool(CALL, replace(desk.caller, meets=meets)))

    assert asked == [("Bash(ls)", CALL), ("Bash(rm *)", CALL)]
    assert (desk.project / "one").exists()
    assert not (desk.project / "two").exists()


def test_condition_nobody_can_judge_runs_the_hook(desk: Desk) -> None:
    assert desk.before(hook("exit 2", condition="Bash(rm *)")).behavior == "deny"


def test_event_without_a_tool_is_matched_by_its_own_field(desk: Desk) -> None:
    start = HookEvent.SESSION_START
    runner = desk.runner(
        hook("echo context", start, matcher="startup"),
        hook("touch resumed", start, matcher="resume"),
        hook("cat > task", HookEvent.TASK_CREATED, matcher="whatever"),
    )

    started = asyncio.run(runner.on_event(start, {"source": "startup"}, desk.caller))
    asyncio.run(runner.on_event(HookEvent.TASK_CREATED, {"task_id": 7}, desk.caller))

    assert started == HookOutcome(context="context")
    assert not (desk.project / "resumed").exists()
    assert json.loads(desk.written("task"))["task_id"] == 7


# -- pins --


def test_hook_whose_script_has_changed_is_not_run_and_says_no(desk: Desk) -> None:
    script = desk.project / "guard.sh"
    script.write_text("#!/bin/sh\nexit 0\n")
    script.chmod(0o755)
    for command, args in (
        ("./guard.sh", None),
        ('sh "$CLAUDE_PROJECT_DIR"/guard.sh', None),
        (str(script), ()),
    ):
        runner = desk.runner(hook(command, args=args))
        assert asyncio.run(runner.before_tool(CALL, desk.caller)) == HookOutcome()
        original = script.read_text()
        script.write_text("#!/bin/sh\ntouch evil\n")

        outcome = asyncio.run(runner.before_tool(CALL, desk.caller))

        script.write_text(original)
        assert outcome.behavior == "deny"
        assert "has changed" in outcome.warnings[0]
        assert not (desk.project / "evil").exists()


def test_script_that_appears_later_was_not_trusted_either(desk: Desk) -> None:
    runner = desk.runner(hook("./later.sh"))
    script = desk.project / "later.sh"
    script.write_text("#!/bin/sh\ntouch evil\n")
    script.chmod(0o755)

    outcome = asyncio.run(runner.before_tool(CALL, desk.caller))

    assert outcome.behavior == "deny"
    assert not (desk.project / "evil").exists()


# -- much data (HOK-05) --

BIG = ToolCall(call_id="c1", name="write_file", input={"path": "a", "content": "x" * 5_000_000})


def test_hook_that_does_not_read_its_input_is_fine(desk: Desk) -> None:
    assert desk.before(hook("exit 0"), call=BIG) == HookOutcome()


@pytest.mark.slow
def test_hook_that_prints_much_before_it_reads_does_not_lock_up(desk: Desk) -> None:
    outcome = desk.before(
        hook("head -c 1000000 /dev/zero | tr '\\0' x; cat > /dev/null", timeout_seconds=30.0),
        call=BIG,
    )

    assert outcome == HookOutcome()


def test_hook_gets_the_whole_payload_and_a_short_variable(desk: Desk) -> None:
    desk.before(hook('cat > payload; printf %s "$HOOK_TOOL_INPUT" > variable'), call=BIG)

    payload = json.loads(desk.written("payload"))
    assert payload["tool_input"]["content"] == BIG.input["content"]
    assert json.loads(desk.written("variable"))["content"] == "x" * 10_000


@pytest.mark.parametrize(
    "content",
    [{"a": "\0\ud800"}, {"edits": ["y" * 9_000] * 100}, {str(n): "z" * 99 for n in range(20_000)}],
    ids=["odd", "many", "too_many"],
)
def test_input_that_fits_no_variable_still_starts_the_hook(
    desk: Desk, content: dict[str, Any]
) -> None:
    call = ToolCall(call_id="c1", name="bash", input=content)

    outcome = desk.before(hook('printf %s "$HOOK_TOOL_INPUT" > variable'), call=call)

    assert outcome == HookOutcome()
    assert isinstance(json.loads(desk.written("variable")), dict)


def test_output_with_a_nul_still_starts_the_hook(desk: Desk) -> None:
    runner = desk.runner(hook('printf %s "$HOOK_TOOL_OUTPUT" > variable', AFTER))
    result = ToolResult(text="a\0b" + "c" * 200_000)

    outcome = asyncio.run(runner.after_tool(CALL, result, desk.caller, seconds=0.0))

    assert outcome == HookOutcome()
    assert desk.written("variable").startswith("abccc")

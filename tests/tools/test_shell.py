"""bash: what a model gets to see, and what is left on the machine."""

import asyncio
import os
import pty
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from modules.context.spill import FILE_LIMIT_BYTES
from modules.records.decisions import ShellSubject
from modules.records.errors import ModelFault
from modules.records.tooling import Place, ToolResult
from tests.tools.lanes import make_lane, processes_named
from tools.command import OUTPUT_LIMIT
from tools.lane_context import LaneContext
from tools.shell import SHELL_TOOLS, BashInput, run_bash


@pytest.fixture
def lane(tmp_path: Path) -> LaneContext:
    return make_lane(tmp_path / "lane")


@pytest.fixture
def marker(tmp_path: Path) -> str:
    """Goes into command lines, so that left-over processes can be found."""
    return f"marked-{tmp_path.name}-{os.getpid()}"


def bash(lane: LaneContext, command: str, timeout_seconds: float = 20) -> ToolResult:
    return asyncio.run(run_bash(BashInput(command=command, timeout_seconds=timeout_seconds), lane))


def sleeper(marker: str) -> str:
    return f"bash -c 'exec -a {marker} sleep 100'"


def test_bash_when_both_streams_are_used_then_they_come_in_order(lane: LaneContext) -> None:
    result = bash(lane, "echo one; echo two >&2; echo three")

    assert result == ToolResult(text="one\ntwo\nthree")


def test_bash_when_it_starts_then_it_is_in_the_lane_with_the_given_environment(
    lane: LaneContext,
) -> None:
    result = bash(lane, "pwd; env | cut -d= -f1")

    folder, *names = result.text.splitlines()
    of_bash = {"OLDPWD", "PWD", "SHLVL", "_"}
    assert folder == str(lane.root)
    assert set(names) - of_bash == {*lane.environment, "CREWYARD_CALLS"}


def test_bash_when_nothing_is_printed_then_the_text_is_not_empty(lane: LaneContext) -> None:
    assert bash(lane, "printf ' \\n\\n'") == ToolResult(text="(no output)")


def test_bash_when_the_command_fails_then_the_exit_code_is_last_and_it_is_an_error(
    lane: LaneContext,
) -> None:
    assert bash(lane, "echo so far; exit 3") == ToolResult(
        text="so far\n[exit code 3]", is_error=True
    )


def test_bash_when_a_signal_ends_it_then_the_signal_is_named(lane: LaneContext) -> None:
    assert bash(lane, "kill -SEGV $$") == ToolResult(
        text="(no output)\n[ended by signal SIGSEGV]", is_error=True
    )


def test_bash_when_profile_files_exist_then_they_are_not_run(lane: LaneContext) -> None:
    for name in (".bashrc", ".bash_profile", ".profile"):
        (lane.root.parent / name).write_text("echo from a profile\n")

    assert bash(lane, "echo hi").text == "hi"


@pytest.mark.slow
def test_bash_when_a_background_child_holds_the_pipe_then_it_returns_and_the_child_is_gone(
    lane: LaneContext, marker: str
) -> None:
    """BSH-01."""
    started = time.monotonic()

    result = bash(lane, f"{sleeper(marker)} & echo done")

    assert result == ToolResult(
        text="done\n[processes still running when the command was over, now ended: 1]"
    )
    assert time.monotonic() - started < 3
    assert processes_named(marker) == []


@pytest.mark.slow
@pytest.mark.parametrize(
    "launch",
    [
        pytest.param("{} >/dev/null 2>&1 & disown", id="without the pipe"),
        pytest.param("nohup {} >/dev/null 2>&1 &", id="nohup"),
        pytest.param("setsid {} >/dev/null 2>&1 &", id="session of its own"),
        pytest.param("(setsid {} &) >/dev/null 2>&1", id="orphan in a session of its own"),
        pytest.param("env -i {} &", id="empty environment"),
        pytest.param("set -m; {} >/dev/null 2>&1 &", id="group of its own"),
    ],
)
def test_bash_when_a_child_gets_away_then_it_is_ended_all_the_same(
    lane: LaneContext, marker: str, launch: str
) -> None:
    """BSH-01: the whole kind."""
    command = launch.replace("{}", f"bash -c 'exec -a {marker} sleep 100'")

    result = bash(lane, f"{command}\necho done")

    assert result.text.splitlines()[0] == "done"
    assert "now ended: 1" in result.text
    assert processes_named(marker) == []


@pytest.mark.slow
def test_bash_when_a_background_child_ends_soon_then_it_is_waited_for(lane: LaneContext) -> None:
    result = bash(lane, "(sleep 0.3; echo late > late.txt) >/dev/null 2>&1 & echo done")

    assert result == ToolResult(text="done")
    assert (lane.root / "late.txt").read_text() == "late\n"


@pytest.mark.slow
@pytest.mark.parametrize(
    "command",
    [
        pytest.param("bash -c 'trap \"\" TERM; exec -a {} sleep 100' | cat", id="ignores TERM"),
        pytest.param("find / -name x 2>/dev/null | bash -c 'exec -a {} sleep 100'", id="pipeline"),
        pytest.param("(setsid bash -c 'trap \"\" TERM; exec -a {} sleep 100')", id="own session"),
    ],
)
def test_bash_when_time_is_up_then_all_children_are_gone_and_the_output_so_far_is_told(
    lane: LaneContext, marker: str, command: str
) -> None:
    """BSH-02."""
    started = time.monotonic()

    result = bash(lane, f"echo part; {command.format(marker)}", timeout_seconds=1)

    assert result == ToolResult(
        text="part\n[timed out after 1 s; the command and its children were ended]",
        is_error=True,
    )
    assert time.monotonic() - started < 6
    assert processes_named(marker) == []


@pytest.mark.slow
def test_bash_when_run_without_care_then_its_children_hold_the_pipe_and_live_on(
    marker: str,
) -> None:
    """BSH-01 and BSH-02: the trouble is there without the guard."""
    shell = subprocess.Popen(
        ["bash", "-c", f"{sleeper(marker)} & echo done"],
        stdout=subprocess.PIPE,
        start_new_session=True,
    )

    shell.wait()

    try:
        with pytest.raises(subprocess.TimeoutExpired):
            shell.communicate(timeout=1)
        assert processes_named(marker)
    finally:
        os.killpg(shell.pid, signal.SIGKILL)
        shell.communicate()


@pytest.mark.slow
@pytest.mark.parametrize("prelude", ["", "trap '' TERM; "], ids=["kind", "ignores TERM"])
def test_bash_when_it_is_cancelled_then_all_children_are_gone(
    tmp_path: Path, marker: str, prelude: str
) -> None:
    """BSH-02 with Ctrl-C in place of the time limit."""

    async def cancel_once_it_runs() -> None:
        ready = asyncio.Event()
        lane = make_lane(tmp_path / "lane", on_progress=lambda text: ready.set())
        command = f"{prelude}{sleeper(marker)} & echo ready; {sleeper(marker)} | cat"
        task = asyncio.create_task(run_bash(BashInput(command=command), lane))
        await ready.wait()
        task.cancel()
        await task

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(cancel_once_it_runs())

    assert processes_named(marker) == []


@pytest.mark.parametrize(
    ("command", "text"),
    [
        ("cat", "(no output)"),
        ("read x; echo got:$x", "got:"),
        ("cat /dev/stdin | wc -c", "0"),
        ("python3 -c 'input()' 2>&1 | tail -1", "EOFError: EOF when reading a line"),
    ],
)
def test_bash_when_a_command_reads_then_its_input_is_at_the_end(
    lane: LaneContext, command: str, text: str
) -> None:
    """BSH-03."""
    assert bash(lane, command) == ToolResult(text=text)


CONSOLE = """
import asyncio, sys
from pathlib import Path
from tests.tools.lanes import make_lane
from tools.shell import BashInput, run_bash

lane = make_lane(Path(sys.argv[1]))
print("ready", flush=True)
sys.stdin.readline()
result = asyncio.run(run_bash(BashInput(command=sys.argv[2]), lane))
print(repr(result.text), flush=True)
print("console got", sys.stdin.readline().strip(), "END", flush=True)
"""


@pytest.mark.slow
@pytest.mark.parametrize("source", ["/dev/stdin", "/dev/tty"])
def test_bash_when_a_person_types_meanwhile_then_the_keys_stay_the_consoles(
    tmp_path: Path, source: str
) -> None:
    """BSH-03: in a real terminal, which is also the controlling one."""
    pid, terminal = pty.fork()
    if pid == 0:
        command = f"head -n 1 {source} 2>/dev/null"
        arguments = [sys.executable, "-c", CONSOLE, str(tmp_path / "lane"), command]
        os.execv(sys.executable, arguments)
    with os.fdopen(terminal, "r+b", buffering=0) as console:
        shown = b""
        while b"ready" not in shown:
            shown += console.read(1024)
        console.write(b"go\nfor the console\n")
        while b"END" not in shown:
            shown += console.read(1024)
        os.waitpid(pid, 0)

    assert b"console got for the console" in shown
    assert b"'for the console" not in shown


def test_bash_when_a_folder_it_was_in_is_removed_then_the_next_command_works(
    lane: LaneContext,
) -> None:
    """BSH-04."""
    bash(lane, "mkdir -p a/b && cd a/b && pwd")
    bash(lane, "rm -r a")

    assert bash(lane, "echo hi") == ToolResult(text="hi")


def test_bash_when_its_own_folder_is_gone_then_the_fault_says_so(lane: LaneContext) -> None:
    """BSH-04."""
    lane.root.rmdir()

    with pytest.raises(ModelFault, match="is gone, so no tool can work in it"):
        bash(lane, "echo hi")


def test_bash_when_its_folder_was_made_again_then_it_works(lane: LaneContext) -> None:
    """BSH-04: a lane that was closed and opened anew."""
    lane.root.rmdir()
    lane.root.mkdir()

    assert bash(lane, "echo hi") == ToolResult(text="hi")


@pytest.mark.parametrize(
    ("command", "text"),
    [
        (
            r"printf '\360'",
            "�\n[the output was not valid UTF-8; bytes shown as �: 1]",
        ),
        (
            r"printf '\355\240\275'",
            "���\n[the output was not valid UTF-8; bytes shown as �: 3]",
        ),
        (
            r"printf 'a\0b\033[31mred\033[0m\r50%%\r100%%\n'",
            "100%\n[left out, as a carriage return took it back: 2 times text]",
        ),
        (r"printf '\033]0;title\007plain\033[1mbold\033[m\r\nnext'", "plainbold\nnext"),
        (r"printf 'caf\303\251 \360\237\230\200'", "café 😀"),
    ],
)
def test_bash_when_output_is_no_plain_text_then_it_is_made_so(
    lane: LaneContext, command: str, text: str
) -> None:
    """BSH-05."""
    assert bash(lane, command) == ToolResult(text=text)


@pytest.mark.parametrize("locale", [{"LC_ALL": "C"}, {}], ids=["C", "none"])
def test_bash_when_output_is_binary_then_it_is_shown_with_a_note(
    lane: LaneContext, locale: dict[str, str]
) -> None:
    """BSH-05."""
    lane.environment = {"PATH": lane.environment["PATH"], **locale}

    result = bash(lane, f"head -c 5000 {sys.executable}")

    assert "not valid UTF-8" in result.text
    assert not [c for c in result.text if ord(c) < 32 and c not in "\n\t"]


def test_bash_when_output_is_long_then_both_ends_are_shown_and_all_is_in_a_file(
    lane: LaneContext,
) -> None:
    whole = "".join(f"{number}\n" for number in range(20_000))
    omitted = len(whole) - OUTPUT_LIMIT

    result = bash(lane, "seq 0 19999")

    file = lane.outputs / "bash.txt"
    head, note, tail = result.text.partition(
        f"\n[{omitted} characters omitted; the whole text is in {file}]\n"
    )
    assert note
    assert (head, tail + "\n") == (whole[: OUTPUT_LIMIT // 2], whole[-OUTPUT_LIMIT // 2 :])
    assert file.read_text() == whole


@pytest.mark.slow
def test_bash_when_output_never_ends_then_memory_and_disk_stay_bounded(lane: LaneContext) -> None:
    result = bash(lane, "yes", timeout_seconds=1)

    (file,) = lane.outputs.iterdir()
    assert len(result.text) < OUTPUT_LIMIT + 500
    assert file.stat().st_size == FILE_LIMIT_BYTES
    assert "the first 10 MB are in" in result.text


def test_bash_when_outputs_have_no_place_then_the_ends_are_shown_all_the_same(
    lane: LaneContext,
) -> None:
    lane.temporary.write_text("a file where the folder should be")

    result = bash(lane, "seq 0 19999")

    assert result.text.startswith("0\n1\n")
    assert result.text.endswith("\n19999")
    assert "could not be kept in a file: Not a directory" in result.text


def test_bash_when_it_prints_then_whoever_watches_is_told(tmp_path: Path) -> None:
    told: list[str] = []
    lane = make_lane(tmp_path / "lane", on_progress=told.append)

    bash(lane, "echo one; printf two")

    assert "".join(told) == "one\ntwo"


@pytest.mark.parametrize(
    "command",
    [
        pytest.param("echo a\0b", id="NUL"),
        pytest.param("echo \ud800", id="half a surrogate pair"),
        pytest.param(f"echo {'x' * 200_000}", id="longer than the system takes"),
    ],
)
def test_bash_when_a_command_cant_be_passed_then_the_model_is_told(
    lane: LaneContext, command: str
) -> None:
    with pytest.raises(ModelFault, match="could not be started"):
        bash(lane, command)


def test_bash_when_there_is_a_sandbox_then_the_command_goes_through_it(lane: LaneContext) -> None:
    lane.wrap = lambda argv: ["env", "JAILED=yes", *argv]

    assert bash(lane, "echo $JAILED").text == "yes"


def test_bash_when_calls_run_at_once_then_none_ends_the_others_children(lane: LaneContext) -> None:
    async def both() -> tuple[ToolResult, ToolResult]:
        slow = run_bash(BashInput(command="sleep 0.5; echo slow"), lane)
        fast = run_bash(BashInput(command="echo fast"), lane)
        first, second = await asyncio.gather(slow, fast)
        return first, second

    assert asyncio.run(both()) == (ToolResult(text="slow"), ToolResult(text="fast"))


def test_bash_when_it_is_done_then_no_descriptor_stays_open(lane: LaneContext) -> None:
    async def count_after_calls() -> tuple[int, int]:
        await run_bash(BashInput(command="true"), lane)
        before = len(list(Path("/proc/self/fd").iterdir()))
        for _ in range(5):
            await run_bash(BashInput(command="sleep 0.01 & echo hi"), lane)
        await asyncio.sleep(0)
        return before, len(list(Path("/proc/self/fd").iterdir()))

    before, after = asyncio.run(count_after_calls())

    assert before == after


def test_shell_tools_are_judged_by_their_command() -> None:
    (tool,) = SHELL_TOOLS

    assert (tool.name, tool.place) == ("bash", Place.LANE)
    assert tool.subject(BashInput(command="ls")) == ShellSubject(command="ls")

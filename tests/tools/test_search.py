"""glob and grep: which files, which lines, and how long at most."""

import asyncio
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

from modules.records.decisions import PathSubject
from modules.records.errors import ModelFault
from modules.records.tooling import ToolResult
from tests.tools.lanes import children_named, make_lane
from tools.grep_child import FILE_LIMIT_BYTES, LINE_LIMIT
from tools.lane_context import LaneContext
from tools.search import (
    GREP_SECONDS,
    LINES_LIMIT,
    PATHS_LIMIT,
    SEARCH_TOOLS,
    GlobInput,
    GrepInput,
    glob,
    grep,
)


@pytest.fixture
def lane(tmp_path: Path) -> LaneContext:
    """A repository with tracked, new, ignored, deleted and secret files."""
    lane = make_lane(tmp_path / "lane")
    subprocess.run(["git", "init", "-q"], cwd=lane.root, check=True)
    files = {
        ".gitignore": "build/\n*.log\n",
        "src/a.py": "import os\n\nclass A:\n    pass\n",
        "src/b.py": "import re\n",
        "docs/read me.md": "class in words\n",
        "gone.py": "class Gone:\n",
        ".env": "class SECRET\n",
        "build/out.py": "class Built:\n",
        "trace.log": "class Logged\n",
        ".team/board.py": "class Board\n",
        ".worktrees/other/c.py": "class Other\n",
    }
    for name, text in files.items():
        (lane.root / name).parent.mkdir(parents=True, exist_ok=True)
        (lane.root / name).write_text(text)
    subprocess.run(["git", "add", "src/a.py", "gone.py"], cwd=lane.root, check=True)
    (lane.root / "gone.py").unlink()
    (lane.root / "link.py").symlink_to("src/a.py")
    (lane.root / "folder_link").symlink_to("src")
    return lane


def found(lane: LaneContext, pattern: str, path: str = ".") -> list[str]:
    return asyncio.run(glob(GlobInput(pattern=pattern, path=path), lane)).text.splitlines()


def search(lane: LaneContext, given: GrepInput) -> list[str]:
    return asyncio.run(grep(given, lane)).text.splitlines()


# glob


def test_glob_when_in_a_repository_then_what_git_ignores_and_secrets_are_left_out(
    lane: LaneContext,
) -> None:
    assert found(lane, "**") == [
        ".gitignore",
        "docs/read me.md",
        "folder_link",
        "link.py",
        "src/a.py",
        "src/b.py",
        "[1 files that hold secrets were left out]",
    ]


def test_glob_when_a_folder_is_given_then_the_pattern_is_below_it(lane: LaneContext) -> None:
    assert found(lane, "*.py", "src") == ["src/a.py", "src/b.py"]
    assert found(lane, "src/*.py", str(lane.root))[:2] == ["src/a.py", "src/b.py"]
    assert found(lane, "*.txt", "src") == ["No file matches."]


def test_glob_when_the_folder_itself_is_ignored_then_its_files_are_found(
    lane: LaneContext,
) -> None:
    assert found(lane, "*", "build") == ["build/out.py"]


def test_glob_when_there_is_no_repository_then_the_folders_are_walked(tmp_path: Path) -> None:
    lane = make_lane(tmp_path / "plain")
    (lane.root / "a" / ".git").mkdir(parents=True)
    (lane.root / "a" / ".git" / "config.py").touch()
    (lane.root / "a" / "b.py").touch()
    (lane.root / "loop").symlink_to(lane.root)
    lane.environment = {**lane.environment, "GIT_CEILING_DIRECTORIES": str(tmp_path)}

    assert found(lane, "*.py") == ["a/b.py"]


def test_glob_when_looking_outside_then_paths_are_absolute_and_credentials_stay_hidden(
    lane: LaneContext, tmp_path: Path
) -> None:
    outside = tmp_path / "home"
    for name in (".aws/credentials", ".ssh/config", "lib/a.py"):
        (outside / name).parent.mkdir(parents=True)
        (outside / name).touch()

    assert found(lane, "**", str(outside)) == [
        f"{outside}/lib/a.py",
        "[2 files that hold secrets were left out]",
    ]


def test_glob_when_there_are_many_files_then_the_number_is_told(lane: LaneContext) -> None:
    (lane.root / "many").mkdir()
    for number in range(PATHS_LIMIT + 7):
        (lane.root / "many" / f"{number:04}.txt").touch()

    lines = found(lane, "many/*")

    assert lines[:2] == ["many/0000.txt", "many/0001.txt"]
    assert lines[PATHS_LIMIT:] == [
        "[500 of 507 files are shown; use a narrower pattern or path]",
        "[1 files that hold secrets were left out]",
    ]


def test_glob_when_a_name_is_no_utf_8_then_the_text_is_clean(lane: LaneContext) -> None:
    (lane.root / os.fsdecode(b"src/odd\xff.py")).touch()

    assert found(lane, "odd*", "src") == ["src/odd�.py"]


@pytest.mark.parametrize("path", ["none", "a\0b", "x" * 300])
def test_glob_when_the_folder_is_not_there_then_the_fault_says_so(
    lane: LaneContext, path: str
) -> None:
    with pytest.raises(ModelFault, match=r"does not exist|can't be the name"):
        found(lane, "*", path)


# grep


def test_grep_when_lines_match_then_they_are_shown_with_their_places(lane: LaneContext) -> None:
    assert search(lane, GrepInput(pattern="^class")) == [
        "docs/read me.md:1:class in words",
        "src/a.py:3:class A:",
        "[1 files that hold secrets were left out]",
    ]


def test_grep_when_a_file_or_glob_is_given_then_only_that_is_searched(lane: LaneContext) -> None:
    assert search(lane, GrepInput(pattern="import", path="src/a.py")) == ["src/a.py:1:import os"]
    assert search(lane, GrepInput(pattern="import", path="src", glob="b*")) == [
        "src/b.py:1:import re"
    ]
    assert search(lane, GrepInput(pattern="CLASS", path="src")) == ["No line matches."]
    assert search(lane, GrepInput(pattern="CLASS", path="src", ignore_case=True)) == [
        "src/a.py:3:class A:"
    ]
    assert search(lane, GrepInput(pattern="class", path="build")) == ["build/out.py:1:class Built:"]


def test_grep_when_context_is_asked_for_then_lines_around_are_shown_once(
    lane: LaneContext,
) -> None:
    text = "1\n2 hit\n3\n4 hit\n5\n6\n7\n8 hit\n"
    (lane.root / "src" / "c.txt").write_text(text)

    assert search(lane, GrepInput(pattern="hit", path="src/c.txt", context=1)) == [
        "src/c.txt-1-1",
        "src/c.txt:2:2 hit",
        "src/c.txt-3-3",
        "src/c.txt:4:4 hit",
        "src/c.txt-5-5",
        "--",
        "src/c.txt-7-7",
        "src/c.txt:8:8 hit",
    ]


def test_grep_when_there_are_many_matches_then_the_counts_are_true(lane: LaneContext) -> None:
    for name in ("m1.txt", "m2.txt"):
        (lane.root / "docs" / name).write_text("needle\n" * 150)

    lines = search(lane, GrepInput(pattern="needle", path="docs"))

    assert len([line for line in lines if ":needle" in line]) == LINES_LIMIT
    assert lines[-1] == "[200 of 300 matching lines in 2 files are shown]"


def test_grep_when_files_are_no_text_then_they_are_skipped_and_counted(
    lane: LaneContext,
) -> None:
    folder = lane.root / "data"
    folder.mkdir()
    (folder / "a.bin").write_bytes(b"needle\0")
    (folder / "b.txt").write_bytes(b"needle" + b"x" * FILE_LIMIT_BYTES)
    (folder / "c.txt").write_bytes(b"caf\xe9 needle\r\n")
    (folder / "d.txt").write_text("needle " + "x" * 1000)
    os.mkfifo(folder / "pipe")

    assert search(lane, GrepInput(pattern="needle", path="data")) == [
        "data/c.txt:1:caf� needle",
        "data/d.txt:1:needle " + "x" * (LINE_LIMIT - len("needle ")),
        "[2 files were not searched: binary or over 5 MB]",
    ]


@pytest.mark.parametrize("path", [".env", "link.env"])
def test_grep_when_the_file_holds_secrets_then_it_is_refused(lane: LaneContext, path: str) -> None:
    (lane.root / "link.env").symlink_to(".env")

    with pytest.raises(ModelFault, match="holds secrets and is not searched"):
        search(lane, GrepInput(pattern=".", path=path))


@pytest.mark.parametrize("pattern", ["(", "[a", "*", "(?P<x", "a{99999999999}"])
def test_grep_when_the_pattern_is_none_then_the_fault_says_so(
    lane: LaneContext, pattern: str
) -> None:
    with pytest.raises(ModelFault, match="not a regular expression"):
        search(lane, GrepInput(pattern=pattern))


def test_grep_when_the_pattern_has_half_a_surrogate_pair_then_nothing_breaks(
    lane: LaneContext,
) -> None:
    assert search(lane, GrepInput(pattern="\ud800x", path="src")) == ["No line matches."]


CATASTROPHE = r"(a+)+$"


@pytest.mark.slow
def test_grep_when_the_pattern_explodes_then_it_is_ended_and_says_so(lane: LaneContext) -> None:
    (lane.root / "src" / "aaa.txt").write_text("a" * 60 + "b\n")
    (lane.root / "src" / "a0.txt").write_text("aaa\n")
    started = time.monotonic()

    async def search_beside_others() -> tuple[ToolResult, int]:
        """Also counts how often the loop got its turn meanwhile."""
        searching = asyncio.create_task(
            grep(GrepInput(pattern=CATASTROPHE, path="src", glob="*.txt"), lane)
        )
        turns = 0
        while not searching.done():
            await asyncio.wait([searching], timeout=0.1)
            turns += 1
        return searching.result(), turns

    result, turns = asyncio.run(search_beside_others())

    assert result.is_error
    assert result.text.splitlines()[0] == "src/a0.txt:1:aaa"
    assert f"[stopped after {GREP_SECONDS:g} s" in result.text
    assert time.monotonic() - started < GREP_SECONDS + 3
    assert turns > GREP_SECONDS * 5
    assert children_named("grep_child.py") == []


@pytest.mark.slow
def test_grep_when_the_pattern_ran_in_this_process_then_it_would_hang() -> None:
    program = f"import re; re.search({CATASTROPHE!r}, 'a' * 60 + 'b')"

    with pytest.raises(subprocess.TimeoutExpired):
        subprocess.run([sys.executable, "-c", program], timeout=1)


@pytest.mark.slow
def test_grep_when_it_is_cancelled_then_its_child_is_gone(lane: LaneContext) -> None:
    (lane.root / "src" / "aaa.txt").write_text("a" * 60 + "b\n")

    async def cancel_once_it_runs() -> None:
        task = asyncio.create_task(grep(GrepInput(pattern=CATASTROPHE, path="src"), lane))
        while not children_named("grep_child.py"):
            assert not task.done()
            await asyncio.sleep(0)
        task.cancel()
        await task

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(cancel_once_it_runs())

    assert children_named("grep_child.py") == []


def test_grep_finds_what_per_line_search_finds(lane: LaneContext) -> None:
    pattern = re.compile(r"(?i)\b(def|class)\s+\w+")
    source = Path(__file__).read_text()
    (lane.root / "src" / "self.py").write_text(source)
    expected = [
        f"src/self.py:{number}:{line[:LINE_LIMIT]}"
        for number, line in enumerate(source.split("\n"), 1)
        if pattern.search(line)
    ]

    given = GrepInput(pattern=pattern.pattern, path="src/self.py", limit=1_000)

    assert search(lane, given) == expected


def test_search_tools_when_the_folder_is_gone_then_each_says_so(tmp_path: Path) -> None:
    """BSH-04: the same for the tools beside bash."""
    lane = make_lane(tmp_path / "lane")
    lane.root.rmdir()

    for call in (glob(GlobInput(pattern="*"), lane), grep(GrepInput(pattern="x"), lane)):
        with pytest.raises(ModelFault, match="is gone, so no tool can work in it"):
            asyncio.run(call)


def test_search_tools_are_judged_by_where_they_look() -> None:
    tools = {tool.name: tool for tool in SEARCH_TOOLS}

    assert tools["glob"].subject(GlobInput(pattern="*")) == PathSubject(path=".", op="read")
    assert tools["grep"].subject(GrepInput(pattern="x", path="src")) == PathSubject(
        path="src", op="read"
    )

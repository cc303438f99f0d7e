"""The file tools, by the bytes on disk."""

import asyncio
import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from modules.records.decisions import PathSubject
from modules.records.errors import ModelFault
from modules.records.tooling import ToolResult
from tests.tools.lanes import make_lane
from tools.files import (
    ENTRIES_LIMIT,
    FILE_TOOLS,
    DeleteFileInput,
    EditFileInput,
    ListDirInput,
    MultiEditInput,
    ReadFileInput,
    WriteFileInput,
    delete_file,
    edit_file,
    list_dir,
    multi_edit,
    read_file,
    write_file,
)
from tools.lane_context import LaneContext
from tools.replacement import Edit
from tools.text_window import CHARACTERS_LIMIT, LINES_LIMIT


@pytest.fixture
def lane(tmp_path: Path) -> LaneContext:
    return make_lane(tmp_path / "lane")


@pytest.fixture
def umask() -> Iterator[int]:
    old = os.umask(0o027)
    yield 0o027
    os.umask(old)


def read(lane: LaneContext, path: str, offset: int = 1, limit: int = LINES_LIMIT) -> str:
    given = ReadFileInput(path=path, offset=offset, limit=limit)
    return asyncio.run(read_file(given, lane)).text


def write(lane: LaneContext, path: str, content: str) -> str:
    return asyncio.run(write_file(WriteFileInput(path=path, content=content), lane)).text


def edit(lane: LaneContext, path: str, old: str, new: str, *, replace_all: bool = False) -> str:
    given = EditFileInput(path=path, old_text=old, new_text=new, replace_all=replace_all)
    return asyncio.run(edit_file(given, lane)).text


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


# read_file


def test_read_file_when_a_file_is_plain_then_its_text_is_all_there_is(lane: LaneContext) -> None:
    (lane.root / "a.py").write_text("def f():\n\treturn 1\n")

    assert read(lane, "a.py") == "def f():\n\treturn 1"
    assert read(lane, str(lane.root / "a.py")) == "def f():\n\treturn 1"


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"", "(empty file)"),
        (b"\n", ""),
        (b"a\r\nb\r\n", "a\nb\n[line breaks are CRLF]"),
        (b"a\r\nb\n", "a\nb\n[line breaks are mixed: 1 CRLF, 1 LF]"),
        (b"\xef\xbb\xbfa\n", "a\n[UTF-8 with a byte order mark]"),
        (b"\xff\xfea\0\n\0", "a\n[UTF-16 LE with a byte order mark]"),
        (
            b"caf\xe9\n",
            "café\n[not UTF-8; shown as Latin-1, other characters can't be written into it]",
        ),
        (b"a", "a\n[no line break at the end of the file]"),
    ],
)
def test_read_file_when_a_file_is_unusual_then_a_note_says_how(
    lane: LaneContext, data: bytes, text: str
) -> None:
    (lane.root / "a.txt").write_bytes(data)

    assert read(lane, "a.txt") == text


def test_read_file_when_a_window_is_asked_for_then_it_says_how_to_go_on(lane: LaneContext) -> None:
    (lane.root / "a.txt").write_text("".join(f"{n}\n" for n in range(1, 11)))

    assert read(lane, "a.txt", 3, 2) == "3\n4\n[lines 3-4 of 10; go on with offset=5]"
    assert read(lane, "a.txt", 9, 5) == "9\n10\n[lines 9-10 of 10]"
    with pytest.raises(ModelFault, match=r"'a\.txt' has 10 lines, none from 11 on"):
        read(lane, "a.txt", 11)


def test_read_file_when_a_file_is_long_then_whole_lines_are_shown_up_to_the_bound(
    lane: LaneContext,
) -> None:
    (lane.root / "many.txt").write_text("x\n" * (LINES_LIMIT + 1))
    (lane.root / "wide.txt").write_text(("y" * 999 + "\n") * 100)

    assert read(lane, "many.txt").endswith(
        f"x\n[lines 1-{LINES_LIMIT} of {LINES_LIMIT + 1}; go on with offset={LINES_LIMIT + 1}]"
    )
    assert read(lane, "wide.txt").endswith("y\n[lines 1-40 of 100; go on with offset=41]")


def test_read_file_when_one_line_is_too_long_then_its_beginning_is_shown(
    lane: LaneContext,
) -> None:
    (lane.root / "one.json").write_text("z" * (CHARACTERS_LIMIT + 1) + "\nnext\n")

    text = read(lane, "one.json")

    assert text.startswith("z" * CHARACTERS_LIMIT + "\n[lines 1-1 of 2; go on with offset=2]\n")
    assert "line 1 has 40001 characters, the first 40000 are shown" in text


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("none.txt", "'none.txt' does not exist"),
        ("folder", "'folder' is a folder; list_dir shows what is in it"),
        ("nul.bin", r"'nul.bin' is a binary file \(3 bytes\)"),
        ("pipe", "is not a regular file"),
        ("a\0b", "can't be the name of a file"),
        ("a\ud800b", "can't be the name of a file"),
        ("x" * 300, "255 bytes"),
    ],
)
def test_read_file_when_there_is_nothing_to_show_then_the_fault_says_why(
    lane: LaneContext, path: str, message: str
) -> None:
    (lane.root / "folder").mkdir()
    (lane.root / "nul.bin").write_bytes(b"a\0b")
    os.mkfifo(lane.root / "pipe")

    with pytest.raises(ModelFault, match=message):
        read(lane, path)


def test_read_file_when_a_file_is_outside_then_it_is_read_where_the_gate_looked(
    lane: LaneContext, tmp_path: Path
) -> None:
    (tmp_path / "library.py").write_text("outside\n")
    (lane.root / "link.py").symlink_to(tmp_path / "library.py")

    assert read(lane, str(tmp_path / "library.py")) == "outside"
    assert read(lane, "../library.py") == "outside"
    assert read(lane, "link.py") == "outside"


# EDT-01 to EDT-07, on disk


def test_edit_file_when_line_breaks_are_mixed_then_only_the_new_line_is_added(
    lane: LaneContext,
) -> None:
    """EDT-01."""
    file = lane.root / "mixed.txt"
    file.write_bytes(b"a\r\nb\r\nc\nd\r\n")

    result = edit(lane, "mixed.txt", "a\nb", "a\nX\nb")

    assert file.read_bytes() == b"a\r\nX\r\nb\r\nc\nd\r\n"
    assert result == (
        "Edited mixed.txt: 1 replacement.\n@@ -1,4 +1,5 @@\n a\r\n+X\r\n b\r\n c\n d\r"
    )


def test_edit_file_when_files_are_read_as_text_then_line_breaks_would_be_lost(
    tmp_path: Path,
) -> None:
    """EDT-01: the trouble is there without the guard."""
    file = tmp_path / "mixed.txt"
    file.write_bytes(b"a\r\nb\r\nc\nd\r\n")

    file.write_text(file.read_text().replace("a\nb", "a\nX\nb"))

    assert file.read_bytes() == b"a\nX\nb\nc\nd\n"


@pytest.mark.parametrize("replace_all", [False, True])
def test_edit_file_when_texts_look_like_patterns_then_they_are_written_literally(
    lane: LaneContext, replace_all: bool
) -> None:
    """EDT-02."""
    new = r"$& $$ $1 \1 \g<0> \n {0} %s %(x)s"
    file = lane.root / "a.txt"
    file.write_text("1\n2 a.b(c)[d]*\n3 aXb\n")

    result = edit(lane, "a.txt", "a.b(c)[d]*", new, replace_all=replace_all)

    assert file.read_text() == f"1\n2 {new}\n3 aXb\n"
    assert result.splitlines()[1:] == [
        "@@ -1,3 +1,3 @@",
        " 1",
        "-2 a.b(c)[d]*",
        f"+2 {new}",
        " 3 aXb",
    ]


@pytest.mark.parametrize("mode", [0o755, 0o600, 0o444, 0o664])
def test_write_and_edit_when_a_file_has_a_mode_then_it_keeps_it(
    lane: LaneContext, mode: int
) -> None:
    """EDT-03."""
    file = lane.root / "run.sh"
    file.write_text("echo 1\n")
    file.chmod(mode)

    edit(lane, "run.sh", "1", "2")
    after_edit = stat.S_IMODE(file.stat().st_mode)
    write(lane, "run.sh", "echo 3\n")

    assert (after_edit, stat.S_IMODE(file.stat().st_mode)) == (mode, mode)
    assert names_in(lane.root) == ["run.sh"]


def test_write_file_when_a_file_is_new_then_its_mode_follows_the_umask(
    lane: LaneContext, umask: int
) -> None:
    """EDT-03."""
    write(lane, "new/folder/a.txt", "x")

    file = lane.root / "new" / "folder" / "a.txt"
    assert stat.S_IMODE(file.stat().st_mode) == 0o666 & ~umask


def test_write_file_when_the_folder_gives_its_group_then_that_works_as_ever(
    lane: LaneContext,
) -> None:
    """EDT-03: a folder with the set-group-id bit."""
    folder = lane.root / "shared"
    folder.mkdir()
    folder.chmod(0o2775)

    write(lane, "shared/a.txt", "x")
    edit(lane, "shared/a.txt", "x", "y")

    assert (folder / "a.txt").read_text() == "y"
    assert (folder / "a.txt").stat().st_gid == folder.stat().st_gid


def test_write_file_when_it_fails_then_no_temporary_file_stays(lane: LaneContext) -> None:
    """EDT-03."""
    (lane.root / "folder").mkdir()

    with pytest.raises(ModelFault, match="is a folder"):
        write(lane, "folder", "x")
    with pytest.raises(ModelFault, match=r"The character '\\ud800' can't be written"):
        write(lane, "folder/a.txt", "x\ud800")

    assert names_in(lane.root) == ["folder"]
    assert names_in(lane.root / "folder") == []


@pytest.mark.parametrize("links", [1, 3])
def test_edit_file_when_the_path_is_a_link_then_its_target_changes(
    lane: LaneContext, links: int
) -> None:
    """EDT-04."""
    (lane.root / "docs").mkdir()
    real = lane.root / "docs" / "real.md"
    real.write_text("old\n")
    target = "docs/real.md"
    for number in range(links):
        (lane.root / f"link{number}.md").symlink_to(target)
        target = f"link{number}.md"

    edit(lane, target, "old", "new")
    write(lane, target, "newer\n")

    assert real.read_text() == "newer\n"
    assert (lane.root / target).is_symlink()
    assert read(lane, "docs/real.md") == "newer"


@pytest.mark.parametrize("path", ["cycle.md", "outside.md", "dangling-outside.md"])
def test_edit_and_write_when_a_link_leads_nowhere_or_away_then_nothing_is_written(
    lane: LaneContext, tmp_path: Path, path: str
) -> None:
    """EDT-04."""
    (lane.root / "cycle.md").symlink_to("other.md")
    (lane.root / "other.md").symlink_to("cycle.md")
    (tmp_path / "outside.md").write_text("old")
    (lane.root / "outside.md").symlink_to("../outside.md")
    (lane.root / "dangling-outside.md").symlink_to("../none.md")

    with pytest.raises(ModelFault, match=r"cycle|outside"):
        edit(lane, path, "old", "new")
    with pytest.raises(ModelFault, match=r"cycle|outside"):
        write(lane, path, "new")

    assert (tmp_path / "outside.md").read_text() == "old"
    assert not (tmp_path / "none.md").exists()
    assert (lane.root / path).is_symlink()


def test_edit_and_write_when_a_link_dangles_inside_then_only_writing_makes_the_file(
    lane: LaneContext,
) -> None:
    """EDT-04."""
    (lane.root / "link.md").symlink_to("none.md")

    with pytest.raises(ModelFault, match="does not exist"):
        edit(lane, "link.md", "a", "b")
    write(lane, "link.md", "new")

    assert (lane.root / "none.md").read_text() == "new"
    assert (lane.root / "link.md").is_symlink()


@pytest.mark.parametrize(
    ("data", "old", "new", "expected"),
    [
        pytest.param(b"x = 1\n# caf\xe9\n", "x = 1", "x = 2", b"x = 2\n# caf\xe9\n", id="latin-1"),
        pytest.param(
            b"# caf\xe9 \xd0\xc5\n", "café", "thé", b"# th\xe9 \xd0\xc5\n", id="latin-1 words"
        ),
        pytest.param(
            b"\xef\xbb\xbfimport os\n",
            "import os",
            "import re",
            b"\xef\xbb\xbfimport re\n",
            id="UTF-8 mark",
        ),
        pytest.param(
            "\ufeffa = 1\r\nb = ‘é’\r\n".encode("utf-16-le"),
            "a = 1",
            "a = 2\nc = 3",
            "\ufeffa = 2\r\nc = 3\r\nb = ‘é’\r\n".encode("utf-16-le"),
            id="UTF-16 LE",
        ),
        pytest.param(
            "\ufeffa = 1\n".encode("utf-16-be"),
            "1",
            "é",
            "\ufeffa = é\n".encode("utf-16-be"),
            id="UTF-16 BE",
        ),
    ],
)
def test_edit_file_when_a_file_is_not_plain_utf_8_then_only_the_target_bytes_change(
    lane: LaneContext, data: bytes, old: str, new: str, expected: bytes
) -> None:
    """EDT-05."""
    file = lane.root / "a.txt"
    file.write_bytes(data)

    edit(lane, "a.txt", old, new)

    assert file.read_bytes() == expected


@pytest.mark.parametrize(
    ("data", "new", "message"),
    [
        (b"x = 1\0\n", "x = 2", "is a binary file"),
        (b"x = 1\n# caf\xe9\n", "x = ’2’", "can't be written: the file's text is not UTF-8"),
    ],
)
def test_edit_file_when_it_would_spoil_a_file_then_it_refuses_and_leaves_it(
    lane: LaneContext, data: bytes, new: str, message: str
) -> None:
    """EDT-05."""
    file = lane.root / "a.txt"
    file.write_bytes(data)

    with pytest.raises(ModelFault, match=message):
        edit(lane, "a.txt", "x = 1", new)

    assert file.read_bytes() == data


def test_edit_file_when_lines_around_have_odd_characters_then_they_stay(
    lane: LaneContext,
) -> None:
    """EDT-06."""
    text = "one\n“two” — 2\u00a0\u00a0 \nthree = 'x'\n‘four’\u2028 \t\nfive\n"
    file = lane.root / "a.txt"
    file.write_text(text)

    edit(lane, "a.txt", "three = 'x'", "three = 'y'")
    with pytest.raises(ModelFault, match="differs from it only in quotes, dashes or blank"):
        edit(lane, "a.txt", '"two" - 2', "2")

    assert file.read_bytes() == text.replace("'x'", "'y'").encode()


ODD = "‘a’ “b” \u00a0 \u2028 e\u0301 \U0001f469\u200d\U0001f469\u200d\U0001f467 \ufeff\t\r\n 'c'\n"


def test_write_and_edit_when_characters_are_odd_then_they_are_written_as_given(
    lane: LaneContext,
) -> None:
    """EDT-07."""
    file = lane.root / "a.txt"

    write(lane, "a.txt", ODD)
    written = file.read_bytes()
    edit(lane, "a.txt", "'c'", "’c’")

    assert written == ODD.encode()
    assert file.read_bytes() == ODD.replace("'c'", "’c’").encode()


# the other rules of write_file, edit_file, multi_edit


def test_write_file_when_a_file_is_new_then_it_is_made_with_its_folders(
    lane: LaneContext,
) -> None:
    assert write(lane, "a/b/c.txt", "é\n") == "Created a/b/c.txt: 3 bytes."
    assert (lane.root / "a/b/c.txt").read_bytes() == b"\xc3\xa9\n"


def test_write_file_when_a_file_is_there_then_the_difference_is_told(lane: LaneContext) -> None:
    (lane.root / "a.txt").write_bytes(b"\xef\xbb\xbfone\r\ntwo\r\n")

    assert write(lane, "a.txt", "one\n2\n").splitlines()[:3] == [
        "Wrote a.txt: 6 bytes.",
        "[the file was UTF-8 with a byte order mark; it is plain UTF-8 now]",
        "[line breaks were CRLF; they are as in your text now]",
    ]
    assert write(lane, "a.txt", "one\n2\n").endswith("[the text is the same as before]")


def test_write_file_when_a_binary_file_is_there_then_it_is_replaced(lane: LaneContext) -> None:
    (lane.root / "a.bin").write_bytes(b"\0\1")

    assert write(lane, "a.bin", "text") == "Wrote a.bin: 4 bytes."


@pytest.mark.parametrize("path", [".git/config", ".team/board.jsonl", "sub/.git/hooks/x"])
def test_write_file_when_a_path_is_the_machinerys_then_it_is_refused(
    lane: LaneContext, path: str
) -> None:
    with pytest.raises(ModelFault, match="which no tool may change"):
        write(lane, path, "x")

    assert names_in(lane.root) in ([], ["sub"])


def test_edit_file_when_the_file_changed_since_it_was_read_then_it_must_be_read_again(
    lane: LaneContext,
) -> None:
    file = lane.root / "a.txt"
    file.write_text("x = 1\ny = 1\n")
    read(lane, "a.txt")
    file.write_text("x = 1\ny = 22\n")

    with pytest.raises(ModelFault, match="was changed on disk since you last saw it"):
        edit(lane, "a.txt", "x = 1", "x = 2")
    with pytest.raises(ModelFault, match="was changed on disk since you last saw it"):
        write(lane, "a.txt", "all new")
    unchanged = file.read_text()
    read(lane, "a.txt")
    edit(lane, "a.txt", "x = 1", "x = 2")

    assert unchanged == "x = 1\ny = 22\n"
    assert file.read_text() == "x = 2\ny = 22\n"


def test_edit_file_when_only_the_mode_changed_since_then_it_works(lane: LaneContext) -> None:
    file = lane.root / "run.sh"
    file.write_text("echo 1\n")
    read(lane, "run.sh")
    file.chmod(0o755)

    edit(lane, "run.sh", "1", "2")

    assert file.read_text() == "echo 2\n"


def test_edit_file_when_it_edits_again_then_its_own_change_is_no_surprise(
    lane: LaneContext,
) -> None:
    write(lane, "a.txt", "1\n")
    edit(lane, "a.txt", "1", "2")
    edit(lane, "./a.txt", "2", "3")

    assert (lane.root / "a.txt").read_text() == "3\n"


def test_multi_edit_when_all_edits_fit_then_each_builds_on_the_one_before(
    lane: LaneContext,
) -> None:
    (lane.root / "a.txt").write_text("a\nb\nb\n")
    edits = (
        Edit(old_text="a", new_text="c"),
        Edit(old_text="c", new_text="d"),
        Edit(old_text="b", new_text="e", replace_all=True),
    )

    result = asyncio.run(multi_edit(MultiEditInput(path="a.txt", edits=edits), lane))

    assert (lane.root / "a.txt").read_text() == "d\ne\ne\n"
    assert result == ToolResult(
        text="Edited a.txt: 4 replacements.\n@@ -1,3 +1,3 @@\n-a\n-b\n-b\n+d\n+e\n+e"
    )


@pytest.mark.parametrize(
    ("second", "message"),
    [
        (Edit(old_text="none", new_text="x"), r"Edit 2 of 2: old_text was not found.*\n"),
        (Edit(old_text="c", new_text="a"), "The edits undo each other"),
    ],
)
def test_multi_edit_when_one_cant_be_made_then_none_is(
    lane: LaneContext, second: Edit, message: str
) -> None:
    (lane.root / "a.txt").write_text("a\n")
    edits = (Edit(old_text="a", new_text="c"), second)

    with pytest.raises(ModelFault, match=message) as caught:
        asyncio.run(multi_edit(MultiEditInput(path="a.txt", edits=edits), lane))

    assert "'a.txt' was not changed" in str(caught.value)
    assert (lane.root / "a.txt").read_text() == "a\n"


# delete_file and list_dir


def test_delete_file_when_it_is_a_link_then_only_the_link_goes(lane: LaneContext) -> None:
    (lane.root / "real.txt").write_text("x")
    (lane.root / "link.txt").symlink_to("real.txt")

    result = asyncio.run(delete_file(DeleteFileInput(path="link.txt"), lane))

    assert result == ToolResult(text="Deleted link.txt.")
    assert names_in(lane.root) == ["real.txt"]


@pytest.mark.parametrize("path", ["none.txt", "folder", "../outside.txt", ".git"])
def test_delete_file_when_it_may_not_be_then_it_stays(
    lane: LaneContext, tmp_path: Path, path: str
) -> None:
    (lane.root / "folder").mkdir()
    (lane.root / ".git").write_text("gitdir: x")
    (tmp_path / "outside.txt").write_text("x")

    with pytest.raises(ModelFault):
        asyncio.run(delete_file(DeleteFileInput(path=path), lane))

    assert names_in(lane.root) == [".git", "folder"]
    assert (tmp_path / "outside.txt").exists()


def test_list_dir_shows_kinds_and_counts_what_it_hides(lane: LaneContext) -> None:
    (lane.root / "src").mkdir()
    (lane.root / "a.txt").write_text("x")
    (lane.root / ".env").write_text("KEY=1")
    (lane.root / "link").symlink_to("a.txt")
    (lane.root / os.fsdecode(b"odd\xff")).write_text("x")

    result = asyncio.run(list_dir(ListDirInput(), lane))

    assert result.text.splitlines() == [
        "a.txt",
        "link@",
        "odd?",
        "src/",
        "[1 files that hold secrets are not shown]",
    ]


def test_list_dir_when_a_folder_is_empty_or_huge_then_that_is_told(lane: LaneContext) -> None:
    (lane.root / "empty").mkdir()
    for number in range(ENTRIES_LIMIT + 3):
        (lane.root / f"f{number:04}").touch()

    assert asyncio.run(list_dir(ListDirInput(path="empty"), lane)).text == "(empty folder)"
    assert asyncio.run(list_dir(ListDirInput(), lane)).text.endswith(
        "\n[4 more names; use glob with a pattern]"
    )


def test_file_tools_when_the_folder_is_gone_then_each_says_so(lane: LaneContext) -> None:
    """BSH-04: the same for the tools beside bash."""
    lane.root.rmdir()

    for call in (
        read_file(ReadFileInput(path="a"), lane),
        write_file(WriteFileInput(path="a", content="x"), lane),
        edit_file(EditFileInput(path="a", old_text="x", new_text="y"), lane),
        delete_file(DeleteFileInput(path="a"), lane),
        list_dir(ListDirInput(), lane),
    ):
        with pytest.raises(ModelFault, match="is gone, so no tool can work in it"):
            asyncio.run(call)
    assert not lane.root.exists()


def test_file_tools_are_judged_by_path_and_what_they_do() -> None:
    inputs = {
        "read_file": ReadFileInput(path="a"),
        "write_file": WriteFileInput(path="a", content=""),
        "edit_file": EditFileInput(path="a", old_text="x", new_text="y"),
        "multi_edit": MultiEditInput(path="a", edits=(Edit(old_text="x", new_text="y"),)),
        "delete_file": DeleteFileInput(path="a"),
        "list_dir": ListDirInput(path="a"),
    }

    subjects = {tool.name: tool.subject(inputs[tool.name]) for tool in FILE_TOOLS}

    assert subjects == {
        "read_file": PathSubject(path="a", op="read"),
        "write_file": PathSubject(path="a", op="write"),
        "edit_file": PathSubject(path="a", op="edit"),
        "multi_edit": PathSubject(path="a", op="edit"),
        "delete_file": PathSubject(path="a", op="delete"),
        "list_dir": PathSubject(path="a", op="read"),
    }

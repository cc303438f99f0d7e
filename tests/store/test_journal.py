"""A journal keeps every whole line, whatever a crash, a full disk or an editor did to the file."""

import logging
import os
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from modules.records.errors import PersonFault
from modules.records.exits import Exit
from modules.store.journal import Journal
from tests.store.letters import Letter, Letters, line, put, read

NOBODY = 65534


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "team" / "letters.jsonl"


def test_catch_up_without_a_file_finds_nothing_and_makes_none(path: Path) -> None:
    assert read(path) == []
    assert not path.parent.exists()


def test_append_is_seen_by_the_writer_and_by_others_in_order(path: Path) -> None:
    writer, other = Letters(path), Letters(path)

    writer.write("a")
    other.write("b", "c")
    writer.write("d")

    assert writer.seen == ["a", "b", "c", "d"]
    assert other.read() == ["a", "b", "c", "d"]
    assert path.read_bytes() == line("a") + line("b") + line("c") + line("d")


def test_append_decides_on_what_others_wrote_before(path: Path) -> None:
    first, second = Letters(path), Letters(path)
    first.write("a")

    second.journal.append(lambda: [Letter(text=f"after {len(second.seen)}")])

    assert read(path) == ["a", "after 1"]


def test_sync_that_the_disk_refuses_is_an_error(path: Path) -> None:
    letters = Letters(path)
    letters.write("a")
    letters.journal.sync()
    (descriptor,) = (
        int(one.name)
        for one in Path("/proc/self/fd").iterdir()
        if one.is_symlink() and one.readlink() == path
    )
    pipe = os.pipe()
    os.dup2(pipe[1], descriptor)  # what can't be synced stands in for a disk that fails

    with pytest.raises(PersonFault, match="can't be written: Invalid argument"):
        letters.journal.sync()

    for one in pipe:
        os.close(one)


def test_append_of_nothing_writes_nothing(path: Path) -> None:
    letters = Letters(path)

    letters.write()

    assert path.read_bytes() == b""


def test_append_passes_on_what_decide_raises_and_gives_the_lock_back(path: Path) -> None:
    letters = Letters(path)

    def refuse() -> list[Letter]:
        raise LookupError("no")

    with pytest.raises(LookupError):
        letters.journal.append(refuse)

    Letters(path).write("a")
    assert read(path) == ["a"]


def test_empty_file_reads_as_empty_and_takes_records(path: Path) -> None:
    put(path, b"")

    assert read(path) == []
    Letters(path).write("a")
    assert read(path) == ["a"]


def test_torn_tail_is_set_aside_once_and_costs_no_other_record(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """prime-agent#1785, copilot-cli#4098: the next record was glued to the torn one."""
    whole = [f"r{number}" for number in range(50)]
    put(path, b"".join(map(line, whole)) + b'{"kind":"let')
    with (glued := path.with_name("glued")).open("wb") as unguarded:
        unguarded.write(path.read_bytes() + line("lost"))
    assert "lost" not in read(glued)
    caplog.clear()

    Letters(path).write("new 1")
    Letters(path).write("new 2")

    assert read(path) == [*whole, "new 1", "new 2"]
    assert path.with_name("letters.jsonl.torn").read_bytes() == b'{"kind":"let\n'
    assert [record.levelno for record in caplog.records] == [logging.WARNING]


def test_torn_tail_is_left_alone_by_a_reader(path: Path) -> None:
    content = line("a") + b'{"kind":"let'
    put(path, content)

    assert read(path) == ["a"]
    assert path.read_bytes() == content
    assert list(path.parent.iterdir()) == [path]


def test_last_record_without_its_line_break_is_kept(path: Path) -> None:
    put(path, line("a") + line("b").rstrip(b"\n"))

    letters = Letters(path)
    letters.journal.append(lambda: [Letter(text=f"after {letters.seen}")])

    assert read(path) == ["a", "b", "after ['a', 'b']"]
    assert not path.with_name("letters.jsonl.torn").exists()


@pytest.mark.parametrize("tail", [b"1", b"true", b'"a"', b"[]", b"\0\0\0", b" ", b'{"kind"'])
def test_tail_that_is_no_object_is_set_aside(path: Path, tail: bytes) -> None:
    put(path, line("a") + tail)

    Letters(path).write("b")

    assert path.read_bytes() == line("a") + line("b")
    assert path.with_name("letters.jsonl.torn").read_bytes() == tail + b"\n"


def test_two_torn_places_cost_only_themselves(path: Path) -> None:
    put(path, line("a") + b'{"kind":"lett\n' + line("b") + b'{"kind":"letter","te')

    letters = Letters(path)
    letters.write("c")

    assert read(path) == ["a", "b", "c"]
    assert letters.journal.skipped_lines == 1


@pytest.mark.parametrize(
    "bad",
    [
        b"\0" * 300,
        b'{"kind":"later","text":"a newer version wrote this"}',
        b'{"kind":"letter","text":"x","more":1}',
        b'{"kind":"letter","text":7}',
        b"",
        b"\xff\xfe{}",
        b"[" * 100_000,
        b'{"kind":"letter","text":"\xff"}',
        b'{"kind":"letter","text":"a\rb"}',
    ],
    ids=["nul", "kind", "field", "type", "empty", "bytes", "deep", "utf8", "control"],
)
def test_unreadable_line_in_the_middle_is_counted_and_the_rest_is_read(
    path: Path, caplog: pytest.LogCaptureFixture, bad: bytes
) -> None:
    """claude-code#49876, claude-code#50347: reading ended at the first bad line."""
    content = line("a") + bad + b"\n" + line("b")
    put(path, content)
    letters = Letters(path)

    seen = letters.read()

    assert seen == ["a", "b"]
    assert letters.journal.skipped_lines == 1
    assert [record.levelno for record in caplog.records] == [logging.WARNING]
    letters.write("c")
    assert path.read_bytes() == content + line("c")


def test_nul_block_before_a_record_does_not_cost_the_record(path: Path) -> None:
    put(path, line("a") + b"\0" * 300 + line("b"))

    assert read(path) == ["a", "b"]


def test_file_without_the_right_to_read_is_an_error_and_stays_as_it_is(
    plain_person_folder: Path,
) -> None:
    path = put(plain_person_folder / "letters.jsonl", line("a"))
    path.chmod(0)
    letters = Letters(path)

    with pytest.raises(PersonFault, match="can't be opened: Permission denied") as caught:
        letters.read()
    with pytest.raises(PersonFault, match="can't be opened"):
        letters.write("b")

    path.chmod(0o600)
    assert caught.value.exit_code is Exit.FAILED
    assert path.read_bytes() == line("a")


@pytest.fixture
def plain_person_folder() -> Iterator[Path]:
    """Gives a folder of somebody who is not root, and makes the test that person."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        user = os.geteuid()
        if user == 0:
            os.chown(folder, NOBODY, -1)
            os.seteuid(NOBODY)
        try:
            yield folder
        finally:
            os.seteuid(user)


def test_folder_in_the_files_place_is_an_error(path: Path) -> None:
    path.mkdir(parents=True)

    with pytest.raises(PersonFault, match="Is a directory"):
        read(path)


def test_link_in_the_files_place_is_not_followed(path: Path, tmp_path: Path) -> None:
    elsewhere = put(tmp_path / "elsewhere", b"the person's own")
    path.parent.mkdir()
    path.symlink_to(elsewhere)
    with path.open("ab") as unguarded:
        unguarded.write(b"!")
    assert elsewhere.read_bytes() == b"the person's own!"

    with pytest.raises(PersonFault, match="can't be opened"):
        Letters(path).write("a")

    assert elsewhere.read_bytes() == b"the person's own!"


def test_file_that_got_shorter_is_an_error_and_takes_nothing(path: Path) -> None:
    letters = Letters(path)
    letters.write("a", "b")
    put(path, line("a"))

    with pytest.raises(PersonFault, match="got shorter"):
        letters.read()
    with pytest.raises(PersonFault, match="got shorter"):
        letters.write("c")

    assert path.read_bytes() == line("a")


@pytest.mark.parametrize("is_replaced", [False, True])
def test_file_that_was_deleted_or_replaced_is_an_error(path: Path, is_replaced: bool) -> None:
    letters = Letters(path)
    letters.write("a")
    if is_replaced:
        put(path.with_name("new"), line("x") + line("y")).replace(path)
    else:
        path.unlink()

    with pytest.raises(PersonFault, match="was deleted"):
        letters.write("b")


def test_text_with_half_a_character_is_written_with_a_mark_in_its_place(path: Path) -> None:
    letters = Letters(path)

    letters.write("x\ud83dy", "\ud83d\ude00 é")

    assert letters.seen == read(path) == ["x\ufffdy", "😀 é"]


def test_apply_that_raises_costs_no_later_record(path: Path) -> None:
    put(path, line("a") + line("bad") + line("b"))
    seen: list[str] = []

    def take(letter: Letter) -> None:
        if letter.text == "bad":
            raise LookupError("a bug")
        seen.append(letter.text)

    journal: Journal[Letter] = Journal(path, Letter, apply=take)
    with pytest.raises(LookupError):
        journal.catch_up()
    journal.catch_up()

    assert seen == ["a", "b"]


def test_threads_that_share_a_journal_lose_and_repeat_nothing(path: Path) -> None:
    letters = Letters(path)

    def write_and_read(name: int) -> None:
        for number in range(50):
            letters.write(f"{name}:{number}")
            letters.read()

    threads = [threading.Thread(target=write_and_read, args=(name,)) for name in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sorted(letters.seen) == sorted(f"{a}:{b}" for a in range(4) for b in range(50))
    assert letters.seen == read(path)

"""Full disks, kills and noise cost a journal nothing but what they hit."""

import json
import os
import random
import resource
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from modules.records.errors import PersonFault
from modules.records.exits import Exit
from tests.processes import start_python
from tests.store.letters import Letters, line, put, read

NOBODY = 65534


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "team" / "letters.jsonl"


def test_write_cut_short_by_a_limit_leaves_whole_lines_only(path: Path) -> None:
    letters = Letters(path)
    letters.write("a")
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)

    resource.setrlimit(resource.RLIMIT_FSIZE, (len(line("a") + line("b")) + 10, hard))
    try:
        with pytest.raises(PersonFault, match="can't be written: File too large"):
            letters.write("b", "c")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))

    assert path.read_bytes() == line("a") + line("b")
    letters.write("d")
    assert letters.seen == read(path) == ["a", "b", "d"]


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(folder)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=10,
        check=False,
    )
    if mounted.returncode:
        pytest.skip("only where a disk can be mounted")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], timeout=10, check=True)


def test_full_disk_is_told_and_what_was_there_stays(small_disk: Path) -> None:
    path = small_disk / "letters.jsonl"
    letters = Letters(path)
    kept: list[str] = []

    with pytest.raises(PersonFault, match="can't be written: No space left") as caught:
        fill(letters, kept)

    assert caught.value.exit_code is Exit.FAILED
    assert read(path) == kept
    assert path.read_bytes().endswith(b"\n")
    letters.journal.close()


def fill(letters: Letters, kept: list[str]) -> None:
    """Writes until it is refused; `kept` holds what was not."""
    for number in range(1000):
        text = f"{number:04}" + "x" * 1000
        letters.write(text)
        kept.append(text)


WHOLE = st.lists(
    st.text(st.characters(min_codepoint=97, max_codepoint=122), max_size=12), min_size=1, max_size=8
)
Damage = st.tuples(
    st.sampled_from(["cut", "nul", "noise"]), st.integers(0, 10**6), st.binary(max_size=20)
)


@pytest.mark.slow
@given(texts=WHOLE, damage=Damage)
def test_random_damage_never_raises_and_never_loses_a_line_it_did_not_touch(
    texts: list[str], damage: tuple[str, int, bytes]
) -> None:
    lines = [line(text) for text in texts]
    content, untouched = damaged(lines, *damage)
    with tempfile.TemporaryDirectory() as folder:
        path = put(Path(folder) / "letters.jsonl", content)

        letters = Letters(path)
        letters.read()
        letters.write("new")
        again = read(path)
        letters.journal.close()

    assert letters.seen == again
    assert is_in_order(untouched, again[:-1])
    assert again[-1] == "new"


def damaged(lines: list[bytes], kind: str, place: int, noise: bytes) -> tuple[bytes, list[str]]:
    """Returns the file after the damage, and the texts of the lines that were not touched."""
    content = b"".join(lines)
    at = place % (len(content) + 1)
    if kind == "cut":
        content, end = content[:at], len(content)
    else:
        new = b"\0" * len(noise) if kind == "nul" else noise
        content, end = content[:at] + new + content[at + len(noise) :], at + len(noise)
    untouched, start = [], 0
    for one in lines:
        # Noise may hold a line break's place: the line before it ends there too.
        if start + len(one) <= at or (start > end and kind != "cut"):
            untouched.append(json.loads(one)["text"])
        start += len(one)
    return content, untouched


def is_in_order(few: list[str], many: list[str]) -> bool:
    rest = iter(many)
    return all(text in rest for text in few)


KILLED = """
    import sys
    from pathlib import Path
    from tests.store.letters import put, Letters

    letters, name = Letters(Path(sys.argv[1])), sys.argv[2]
    for number in range(100_000):
        letters.write(f"{name}:{number}")
        print(number, flush=True)
"""


@pytest.mark.slow
def test_writers_killed_at_any_moment_leave_every_acknowledged_record_once(path: Path) -> None:
    chance = random.Random(4)
    acknowledged: list[str] = []
    for round_number in range(6):
        writers = [start_python(KILLED, path, f"{round_number}-{name}") for name in range(3)]
        for name, writer in enumerate(writers):
            assert writer.stdout is not None
            last = -1
            for _ in range(chance.randrange(1, 60)):
                last = int(writer.stdout.readline())
            os.killpg(writer.pid, signal.SIGKILL)
            rest = writer.stdout.read().split("\n")[:-1]
            writer.communicate()
            last = int(rest[-1]) if rest else last
            acknowledged += [f"{round_number}-{name}:{number}" for number in range(last + 1)]

    found = read(path)

    assert len(found) == len(set(found))
    assert set(acknowledged) <= set(found)
    # A writer dies between the disk and its word at most once.
    assert len(found) - len(acknowledged) <= 18

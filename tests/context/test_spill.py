"""Long text: both ends shown, the whole of it kept."""

import os
import resource
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from modules.context.spill import (
    FILE_LIMIT_BYTES,
    BoundedText,
    bound_output,
    sweep_spills,
)


def test_bound_output_when_text_is_just_short_enough_then_it_is_untouched(tmp_path: Path) -> None:
    text = "x" * 1000

    assert bound_output(text, limit=1000, spill_folder=tmp_path / "out", name="call") == text
    assert not (tmp_path / "out").exists()


def test_bound_output_when_one_line_is_too_long_then_both_ends_stay(tmp_path: Path) -> None:
    text = "a" * 2500 + "b" * 2500

    bounded = bound_output(text, limit=1000, spill_folder=tmp_path, name="call")

    file = tmp_path / "call.txt"
    note = f"[4000 characters omitted; the whole text is in {file}]"
    assert bounded == f"{'a' * 500}\n{note}\n{'b' * 500}"
    assert file.read_text() == text


def test_bound_output_when_the_reader_finds_the_file_elsewhere_then_it_is_told_there(
    tmp_path: Path,
) -> None:
    seen: list[str] = []

    def where(path: Path) -> str:
        seen.append(path.read_text())
        return "the other room"

    text = "x" * 5000
    bounded = bound_output(text, limit=1000, spill_folder=tmp_path, name="call", where=where)
    short = bound_output("x", limit=1000, spill_folder=tmp_path, name="call", where=where)

    assert "the whole text is in the other room]" in bounded
    assert (seen, short) == ([text], "x")


@pytest.mark.parametrize("extra", [1, 2, 499, 500, 501, 1500])
def test_bound_output_when_text_is_little_too_long_then_the_count_is_exact(
    tmp_path: Path, extra: int
) -> None:
    text = "".join(chr(0x4E00 + number) for number in range(1000 + extra))

    bounded = bound_output(text, limit=1000, spill_folder=tmp_path, name="call")

    head, note, tail = bounded.split("\n")
    assert (head, tail) == (text[:500], text[-500:])
    assert note.startswith(f"[{extra} characters omitted; ")
    assert (tmp_path / "call.txt").read_text() == text


def test_bound_output_when_the_tail_tells_of_an_error_then_the_tail_is_longer(
    tmp_path: Path,
) -> None:
    text = "progress\n" * 1000 + "Traceback (most recent call last):\n" + "ValueError: no\n"

    bounded = bound_output(text, limit=1000, spill_folder=tmp_path, name="call")

    head, _, tail = bounded.partition("\n[")
    assert head == text[:300]
    assert tail.partition("]\n")[2] == text[-700:]


def test_bound_output_when_only_the_head_tells_of_an_error_then_both_ends_are_alike(
    tmp_path: Path,
) -> None:
    text = "Traceback: error\n" + "fine\n" * 1000

    bounded = bound_output(text, limit=1000, spill_folder=tmp_path, name="call")

    assert bounded.startswith(text[:500] + "\n[")


def test_bound_output_when_the_name_is_taken_then_another_file_is_made(tmp_path: Path) -> None:
    for letter in "abc":
        bound_output(letter * 20, limit=10, spill_folder=tmp_path, name="call")

    texts = {path.name: path.read_text() for path in tmp_path.iterdir()}
    assert texts == {"call.txt": "a" * 20, "call-2.txt": "b" * 20, "call-3.txt": "c" * 20}


@pytest.mark.parametrize("name", ["../../up", "/etc/x", ".", "", "a\0b", "é" * 300])
def test_bound_output_when_the_name_is_no_file_name_then_the_file_stays_in_its_folder(
    tmp_path: Path, name: str
) -> None:
    folder = tmp_path / "a" / "b" / "out"

    bound_output("x" * 20, limit=10, spill_folder=folder, name=name)

    assert [p.read_text() for p in tmp_path.rglob("*") if p.is_file()] == ["x" * 20]
    assert len(list(folder.iterdir())) == 1


def test_bound_output_when_a_link_is_planted_then_it_is_not_followed(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    folder.mkdir()
    (folder / "call.txt").symlink_to(tmp_path / "target")

    bounded = bound_output("x" * 20, limit=10, spill_folder=folder, name="call")

    assert not (tmp_path / "target").exists()
    assert "call-2.txt" in bounded


def test_bound_output_when_the_disk_refuses_then_the_ends_are_shown_and_why(
    tmp_path: Path,
) -> None:
    (tmp_path / "out").write_text("a file where the folder should be")

    bounded = bound_output("x" * 30, limit=10, spill_folder=tmp_path / "out", name="call")

    note = "[20 characters omitted; they could not be kept in a file: File exists]"
    assert bounded == f"xxxxx\n{note}\nxxxxx"


def test_bound_output_when_the_disk_fills_up_then_no_part_is_taken_for_the_whole(
    tmp_path: Path,
) -> None:
    text = "x" * 200_000
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, limits[1]))
    try:
        bounded = bound_output(text, limit=10, spill_folder=tmp_path, name="call")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)

    note = "[199990 characters omitted; they could not be kept in a file: File too large]"
    assert bounded == f"xxxxx\n{note}\nxxxxx"
    assert list(tmp_path.iterdir()) == []


def test_bound_output_when_text_is_huge_then_the_file_is_bounded_and_says_so(
    tmp_path: Path,
) -> None:
    text = "é" * FILE_LIMIT_BYTES

    bounded = bound_output(text, limit=10, spill_folder=tmp_path, name="call")

    assert f"omitted; the first 10 MB are in {tmp_path / 'call.txt'}]" in bounded
    assert (tmp_path / "call.txt").stat().st_size == FILE_LIMIT_BYTES


def test_bound_output_when_text_has_half_a_surrogate_pair_then_it_is_kept_as_far_as_it_goes(
    tmp_path: Path,
) -> None:
    bound_output("x" * 20 + "\ud800", limit=10, spill_folder=tmp_path, name="call")

    assert (tmp_path / "call.txt").read_text() == "x" * 20 + "?"


def test_bounded_text_when_it_comes_in_pieces_then_it_is_bounded_as_a_whole(
    tmp_path: Path,
) -> None:
    text = "".join(f"line {number}\n" for number in range(5000))
    bounded = BoundedText(limit=1000, spill_folder=tmp_path, name="pieces")

    for start in range(0, len(text), 7):
        bounded.add(text[start : start + 7])

    whole = bound_output(text, limit=1000, spill_folder=tmp_path, name="whole")
    assert bounded.finish() == whole.replace("whole.txt", "pieces.txt")
    assert (tmp_path / "pieces.txt").read_text() == text


def test_sweep_spills_when_files_are_over_a_week_old_then_they_go(tmp_path: Path) -> None:
    now = datetime(2026, 3, 1, tzinfo=UTC)
    for name, days in (("old.txt", 8), ("fresh.txt", 6), ("old.jsonl", 8)):
        (tmp_path / name).write_text("x")
        written = (now - timedelta(days=days)).timestamp()
        os.utime(tmp_path / name, (written, written))

    assert sweep_spills(tmp_path, now=now) == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["fresh.txt", "old.jsonl"]


def test_sweep_spills_when_there_is_no_folder_then_nothing_happens(tmp_path: Path) -> None:
    assert sweep_spills(tmp_path / "none", now=datetime(2026, 3, 1, tzinfo=UTC)) == 0

"""Tests of modules/team/landing_plan.py."""

from pathlib import Path

import pytest

from modules.team.landing_plan import GuardTripped, guard
from tests.repos import make_repo
from tests.team.queue_case import QueueCase, make_case


def test_guard_when_the_tree_is_of_a_stale_base_then_it_trips(tmp_path: Path) -> None:
    case = make_case(tmp_path)
    lane = case.lane(2)
    case.submit(1, {"a.txt": "landed\n"})
    case.drain()
    head = case.repo.commit({"b.txt": "mine\n"}, "mine", at=lane.path)
    stale_tree = case.repo.rev(f"{head}^{{tree}}")

    with pytest.raises(GuardTripped, match=r"would change \['a.txt'\]"):
        guard(
            case.repository.git,
            fork=case.repo.rev(f"{lane.base}^{{tree}}"),
            onto=case.repo.rev(f"{case.queue.landed}^{{tree}}"),
            head=stale_tree,
            tree=stale_tree,
        )


def test_land_when_a_folder_was_renamed_on_either_side_then_it_lands(tmp_path: Path) -> None:
    files = {f"old/{name}.txt": f"{name}\n" * 9 for name in "abc"}
    case = QueueCase(make_repo(tmp_path, files=files))
    renaming, adding = case.lane(1), case.lane(2)
    case.repo.git("mv", "old", "fresh", at=renaming.path)
    case.queue.submit(case.work(2, {"old/new.txt": "new\n"}, lane=adding))
    case.queue.submit(case.work(1, {}, lane=renaming))
    third = case.lane(3)
    case.queue.submit(case.work(3, {"old/late.txt": "late\n"}, lane=third))

    statuses = case.drain()

    assert statuses == ["merged", "merged", "merged"]
    assert case.files() == [
        "fresh/a.txt",
        "fresh/b.txt",
        "fresh/c.txt",
        "fresh/late.txt",
        "fresh/new.txt",
    ]


def test_land_when_built_on_what_landed_in_another_shape_then_it_is_replayed(
    tmp_path: Path,
) -> None:
    case = make_case(tmp_path)
    first, second = case.lane(1), case.lane(2)
    case.queue.submit(case.work(1, {"f.txt": "1\n"}, lane=first))
    case.repo.git("merge", "-q", "--ff-only", first.branch, at=second.path)
    case.drain()
    case.queue.submit(case.work(2, {"f.txt": "2\n", "g.txt": "g\n"}, lane=second))
    unguarded = case.repo.git(*("merge-tree", "--write-tree", "main", second.branch), accept=(1,))

    statuses = case.drain()

    assert "CONFLICT" in unguarded
    assert statuses == ["merged"]
    assert case.repo.git("show", "main:f.txt") == "2"
    assert "replayed one by one" in case.queue.entry(2).reason
    assert case.repo.git("log", "--format=%s", "main").split("\n") == [
        "task 2",
        "task 1",
        "first commit",
    ]


def test_land_when_a_replay_conflicts_as_well_then_it_is_handed_back(tmp_path: Path) -> None:
    case = make_case(tmp_path)
    lane = case.lane(2)
    case.submit(1, {"a.txt": "one\nFIRST\nthree\n"})
    case.repo.commit({"z.txt": "z\n"}, "z", at=lane.path)
    case.queue.submit(case.work(2, {"a.txt": "one\nSECOND\nthree\n"}, lane=lane))

    assert case.drain() == ["merged", "conflicted"]
    assert case.queue.entry(2).conflicts[0].path == "a.txt"


def test_land_when_attributes_come_with_an_entry_before_it_then_they_count(
    tmp_path: Path,
) -> None:
    case = QueueCase(make_repo(tmp_path, files={"LOG": "0\n"}))
    case.submit(1, {".gitattributes": "LOG merge=union\n"})
    case.submit(2, {"LOG": "0\n2\n"})
    case.submit(3, {"LOG": "0\n3\n"})

    assert case.drain() == ["merged"] * 3
    assert (case.repo.root / "LOG").read_text() == "0\n2\n3\n"

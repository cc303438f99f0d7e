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
            fork=lane.base,
            landed=case.queue.landed,
            head=head,
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

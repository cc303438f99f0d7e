"""Two workers that change the same lines are told before either hands in."""

from pathlib import Path
from typing import Any

import pytest

from tests.scenarios.programs import (
    assert_nothing_left,
    bash,
    calls,
    commit,
    crewyard,
    git,
    make_repository,
    make_script,
    submit,
    worker,
    write,
)

pytestmark = pytest.mark.slow

TOLD = "(?s)from=\"merge queue\".*conflict in 'a.txt'"


def until_moved(lane: str) -> dict[str, Any]:
    """Returns the call that waits until another worker has committed."""
    moved = f'[ "$(git rev-parse -q --verify wt/{lane})" != "$(git rev-parse main)" ]'
    there = f"git rev-parse -q --verify wt/{lane} >/dev/null"
    return bash(f"until {there} && {moved}; do sleep 0.05; done")


def test_worker_that_is_told_in_time_hands_in_without_a_conflict(tmp_path: Path) -> None:
    repository = make_repository(tmp_path / "sample", {"a.txt": "base\n"})
    for subject in ("one", "two"):
        crewyard("task", "add", subject, cwd=repository)
    is_told = '[ "$(git log -1 --format=%s wt/t1-1-one 2>/dev/null || echo told)" = told ]'
    give_way = (
        f"until {is_told}; do sleep 0.05; done; git checkout -q HEAD^ -- a.txt; echo two > b.txt"
    )
    spec = make_script(
        tmp_path,
        [
            worker(
                "one",
                calls(write("a.txt", "one\n"), commit("one"), until_moved("t2-1-two")),
                calls(bash("git commit -q --allow-empty -m told"), submit(), expect=TOLD),
            ),
            worker(
                "two",
                calls(until_moved("t1-1-one"), write("a.txt", "two\n"), commit("two")),
                calls(bash(give_way), commit("give way"), submit(), expect=TOLD),
            ),
        ],
    )

    ended = crewyard(
        *("work", "--model", spec, "--check", "true", "--workers", "2", "--json"), cwd=repository
    )

    assert ended.code == 0, (ended.out, ended.err)
    assert git(repository, "show", "main:a.txt") == "one"
    assert git(repository, "show", "main:b.txt") == "two"
    assert ended.err.count("task 1 and task 2 will conflict in 'a.txt'") == 1
    assert "can't land" not in ended.err
    assert_nothing_left(repository)

"""Tests of modules/git/salvage.py; what it keeps of lanes is in test_lanes."""

from pathlib import Path

import pytest

from modules.git.lanes import CloseAction, close_lane, make_lane
from modules.git.salvage import show_salvage
from tests.repos import NOW, make_repo


def test_salvage_when_hooks_and_signing_refuse_every_commit_then_the_work_is_kept(
    tmp_path: Path,
) -> None:
    """gotgenes/pi-packages#704."""
    repo = make_repo(tmp_path)
    repository = repo.open()
    lane = make_lane(repository, name="t1-1", base=repo.rev("main"))
    hook = repo.root / ".git" / "hooks" / "pre-commit"
    hook.write_text("#!/bin/sh\necho formatted >> a.txt\nexit 1\n")
    hook.chmod(0o755)
    repo.git("config", "--global", "commit.gpgSign", "true")
    (lane.path / "new.txt").write_text("work\n")
    with pytest.raises(AssertionError):
        repo.commit({}, "the worker's own try", at=lane.path)
    written = (lane.path / "a.txt").read_bytes()

    closed = close_lane(
        repository, lane, action=CloseAction.SALVAGE, is_landed=lambda commit: False, now=NOW
    )

    assert not closed.kept
    assert "new.txt" in show_salvage(repository, closed.salvage_ref)
    assert repo.git("show", f"{closed.salvage_ref}:new.txt") == "work"
    assert repo.git("show", f"{closed.salvage_ref}:a.txt").encode() == written.rstrip()

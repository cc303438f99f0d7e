"""What a jailed lane makes is the repository's while the lane is still worked in."""

import asyncio
import os
from pathlib import Path

from modules.app.event_bus import EventBus
from modules.app.object_intake import keep_taking_in
from modules.git.lanes import make_lane
from modules.records.events import Noticed
from modules.store.paths import lane_objects, seen_packed_refs
from tests.repos import NOW, make_repo

COMMIT = "echo new > new; git add new; git commit -qm new"


async def shell(script: str, folder: Path, **variables: str) -> int:
    process = await asyncio.create_subprocess_exec(
        *("sh", "-c", script),
        cwd=folder,
        env={**os.environ, **variables},
        stderr=asyncio.subprocess.DEVNULL,
    )
    return await process.wait()


def test_commit_of_a_command_that_goes_on_is_seen_outside_and_packed_refs_inside(
    tmp_path: Path,
) -> None:
    repo = make_repo(tmp_path)
    repository = repo.open()
    lane = make_lane(repository, name="t1-1", base="main")
    common = repository.common_dir
    own = lane_objects(common) / lane.name
    own.mkdir(parents=True)
    folders = (common / "worktrees" / lane.name, common / "refs/heads/wt")

    async def work() -> None:
        events = EventBus(lambda: NOW)
        intake = asyncio.create_task(keep_taking_in(common, lane.name, folders, events))
        await asyncio.sleep(0)
        variables = {
            "GIT_OBJECT_DIRECTORY": str(own),
            "GIT_ALTERNATE_OBJECT_DIRECTORIES": str(common / "objects"),
        }
        assert await shell(COMMIT, lane.path, **variables) == 0
        async with asyncio.timeout(30):
            while await shell(f"git rev-list --objects --quiet {lane.branch}", repo.root):
                pass
            packed = common / "packed-refs"
            assert await shell("git pack-refs --all", repo.root) == 0
            while seen_packed_refs(common).read_bytes() != packed.read_bytes():
                await asyncio.sleep(0)
        intake.cancel()

    asyncio.run(work())

    assert repo.git("show", f"{lane.branch}:new") == "new"


def test_lane_that_can_not_be_watched_is_told(tmp_path: Path) -> None:
    told: list[object] = []

    async def work() -> None:
        events = EventBus(lambda: NOW)
        events.listen(told.append)
        await keep_taking_in(tmp_path, "t1-1", (tmp_path / "none",), events)

    asyncio.run(work())

    (notice,) = told
    assert isinstance(notice, Noticed)
    assert "t1-1 can't be watched" in notice.text

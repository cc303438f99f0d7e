"""Where an attempt is worked on: its lane, its own temporary folder, its conversation."""

import asyncio
import shutil
from dataclasses import dataclass
from pathlib import Path

from modules.app.house import House
from modules.app.worker_process import WorkerLost
from modules.context.session import Session
from modules.git.lane_names import ATTEMPT, CHECK_TREE, lane_name
from modules.git.lane_state import Lane
from modules.git.lanes import CloseAction, Closed, close_lane, free_locks, list_lanes, make_lane
from modules.git.occupants import occupants
from modules.records.errors import CrewyardError
from modules.records.tasks import Claim, Task
from modules.store.paths import Paths

_WAIT_SECONDS, _MOST_WAITS = 0.1, 100


@dataclass(frozen=True, slots=True)
class AttemptPlace:
    """Where an attempt is worked on."""

    lane: Lane
    temporary: Path
    session: Session


async def make_place(house: House, claim: Claim, task: Task) -> AttemptPlace:
    """Makes the attempt's lane, or finds the one a dead lead left, with its conversation."""
    lane = await _left_lane(house, task) if task.lane else None
    if lane is None:
        lane = await _new_lane(house, claim, task)
    temporary = house.paths.temporary / lane.name
    temporary.mkdir(parents=True, exist_ok=True)
    session = Session(house.paths.sessions / f"{lane.name}.jsonl", clock=house.clock)
    session.open(agent=claim.worker, role=task.draft.role, task=task.task_id, attempt=claim.attempt)
    return AttemptPlace(lane=lane, temporary=temporary, session=session)


async def _left_lane(house: House, task: Task) -> Lane | None:
    """Returns the lane of an attempt under way, once the dead lead's worker has left it."""
    lanes = await asyncio.to_thread(list_lanes, house.repository)
    lane = next((lane for lane in lanes if lane.name == task.lane), None)
    waits = 0
    while lane is not None and occupants(lane.path):
        if waits == _MOST_WAITS:
            raise WorkerLost(f"Others are at work in the lane {lane.name}.")
        waits += 1
        await asyncio.sleep(_WAIT_SECONDS)
    if lane is not None:
        await asyncio.to_thread(free_locks, house.repository, lane)
    return lane


async def _new_lane(house: House, claim: Claim, task: Task) -> Lane:
    name = lane_name(task=task.task_id, attempt=claim.attempt, subject=task.draft.subject)
    base = house.queue.landed
    making = asyncio.ensure_future(
        asyncio.to_thread(make_lane, house.repository, name=name, base=base)
    )
    try:
        lane = await asyncio.shield(making)
    except CrewyardError as error:
        raise WorkerLost(f"No lane could be made: {error}") from error
    except asyncio.CancelledError:
        # The lane is being made by a thread that can't be stopped; it must not stay behind.
        await close_lane_safely(house, await making)
        raise
    house.board.bind_lane(claim, lane=lane.name, branch=lane.branch, base=base)
    return lane


def sweep_temporary(paths: Paths) -> None:
    """Removes the temporary folders of lanes that are gone and of checks; none may be at work."""
    for folder in paths.temporary.glob("*"):
        is_over = ATTEMPT.match(folder.name) and not (paths.lanes / folder.name).exists()
        if is_over or CHECK_TREE.fullmatch(folder.name):
            shutil.rmtree(folder, ignore_errors=True)


async def close_lane_safely(house: House, lane: Lane) -> Closed:
    """Removes a lane; what has not landed is kept in a ref first."""
    return await asyncio.to_thread(
        close_lane,
        house.repository,
        lane,
        action=CloseAction.SALVAGE,
        is_landed=house.queue.has_landed,
        now=house.clock(),
    )

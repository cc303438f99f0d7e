"""Where an attempt is worked on: its lane, its own temporary folder, its conversation."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from modules.app.house import House
from modules.app.known_secrets import mask_file
from modules.app.worker_process import WorkerLost
from modules.context.session import Session
from modules.git.lane_names import ATTEMPT, CHECK_TREE, lane_name
from modules.git.lane_state import Lane
from modules.git.lanes import CloseAction, Closed, close_lane, free_locks, list_lanes, make_lane
from modules.git.occupants import occupants
from modules.git.run_git import GitFault
from modules.records.decisions import Mode
from modules.records.errors import CrewyardError
from modules.records.tasks import Claim, Task
from modules.safety.child_environment import child_environment
from modules.store.paths import Paths
from modules.store.removal import remove_if_possible
from modules.team.handover import Handover, find_handover

_SETUP_PREFIX = "setup-"
_WAIT_SECONDS, _MOST_WAITS = 0.1, 100


@dataclass(frozen=True, slots=True)
class AttemptPlace:
    """Where an attempt is worked on."""

    lane: Lane
    temporary: Path
    session: Session
    lead_mode: Callable[[], Mode]
    """The most the attempt may do unasked now, as far as the lead's mode has a say."""
    handover: Handover | None = None
    """The work of earlier attempts that this one goes on with."""


async def make_place(house: House, claim: Claim, task: Task) -> AttemptPlace:
    """Makes the attempt's lane, or finds the one a dead lead left, with its conversation."""
    lane, handover = await _left_lane(house, task) if task.lane else None, None
    if lane is None:
        base = house.queue.landed
        handover = await _find_handover(house, claim, base)
        lane = await _new_lane(house, claim, task, base, handover.start if handover else "")
    temporary = house.paths.temporary / lane.name
    try:
        temporary.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise WorkerLost(f"The attempt has no temporary folder: {error}") from error
    session = Session(house.paths.sessions / f"{lane.name}.jsonl", clock=house.clock)
    session.open(agent=claim.worker, role=task.draft.role, task=task.task_id, attempt=claim.attempt)
    return AttemptPlace(
        lane=lane,
        temporary=temporary,
        session=session,
        lead_mode=house.permissions.mode_from_now(),
        handover=handover,
    )


async def prepare_place(house: House, place: AttemptPlace) -> None:
    """Makes a new lane ready to run code in; raises WorkerLost when it can't be set up."""
    folder, preparation = place.lane.path, house.preparation
    log = house.paths.checks / f"{_SETUP_PREFIX}{place.lane.name}.log"
    try:
        await asyncio.to_thread(preparation.furnish, folder)
        why = await preparation.set_up(
            folder,
            environment=child_environment(
                house.environment.variables, temporary=place.temporary, network="shared"
            ),
            scratch=house.paths.temporary / f"{_SETUP_PREFIX}{place.lane.name}",
            log=log,
        )
    except OSError as error:
        raise WorkerLost(f"The lane could not be made ready: {error}") from error
    if log.exists():
        await asyncio.to_thread(mask_file, log, house.mask)
    if why:
        raise WorkerLost(f"{why} Its output is in {log.relative_to(house.paths.root)}.")


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


async def _find_handover(house: House, claim: Claim, landed: str) -> Handover | None:
    """Returns what an attempt goes on with; what can't be read of it is told and left."""
    asked = house.queue.reviews.waiting(claim.task)
    try:
        return await asyncio.to_thread(
            find_handover,
            house.repository,
            house.queue.entries(),
            asked=asked.submission if asked is not None else None,
            task=claim.task,
            attempt=claim.attempt,
            landed=landed,
            now=house.clock(),
        )
    except GitFault as error:
        house.events.notice(
            f"Attempt {claim.attempt} of task {claim.task} begins without the work of earlier "
            f"ones: {error}"
        )
        return None


async def _new_lane(house: House, claim: Claim, task: Task, base: str, start: str) -> Lane:
    name = lane_name(task=task.task_id, attempt=claim.attempt, subject=task.draft.subject)
    making = asyncio.ensure_future(
        asyncio.to_thread(
            make_lane,
            house.repository,
            name=name,
            base=base,
            start=start,
            spare=house.spares.take(),
        )
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
        lane = folder.name.removeprefix(_SETUP_PREFIX)
        is_over = ATTEMPT.match(lane) and not (paths.lanes / lane).exists()
        if is_over or CHECK_TREE.fullmatch(folder.name):
            remove_if_possible(folder)


async def close_lane_safely(house: House, lane: Lane) -> Closed:
    """Removes a lane; what has not landed is kept in a ref first."""
    house.preparation.give_back(lane.path)
    return await asyncio.to_thread(
        close_lane,
        house.repository,
        lane,
        action=CloseAction.SALVAGE,
        is_landed=house.queue.has_landed,
        now=house.clock(),
    )

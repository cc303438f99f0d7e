"""One worker's process: started in its jail, served over its pipe, watched, and ended whole.

A worker without a sign of life loses its claim (modules.team.liveness, a look a lease), and goes on
being served: what it still brings is kept for review. It is killed when it stays silent.
"""

import asyncio
import signal
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path

from msgspec.structs import replace

from modules.app.beside import laid_beside
from modules.app.desk import WorkerDesk
from modules.app.house import House
from modules.app.jails import memory_bytes
from modules.app.object_intake import keep_taking_in
from modules.app.worker_end import end_worker, signal_group
from modules.app.worker_pids import cpu_ticks
from modules.git.lane_state import Lane
from modules.git.worktrees import admin_folder
from modules.records.errors import CrewyardError, PersonFault
from modules.records.protocol import LONGEST_LINE_BYTES, STOP_LIMITS
from modules.safety.child_environment import child_environment
from modules.safety.fence import Fence
from modules.safety.hidden_places import hidden_places
from modules.safety.jail import GitGround, JailSpec, SandboxKind
from modules.safety.jail_setup import prepare_jail
from modules.safety.sandbox import jailed_argv
from modules.team.broker import Broker, WorkerNotUp
from modules.team.liveness import Pulse, Verdict
from tools.lane_context import LaneContext


class WorkerLost(CrewyardError):
    """The worker's process is gone, or as good as gone; the message says how."""


async def run_worker(
    house: House,
    *,
    lane: Lane,
    temporary: Path,
    desk: WorkerDesk,
    on_start: Callable[[int, datetime], None],
    on_end: Callable[[list[int]], None],
) -> None:
    """Runs a worker in its lane until it ends, or its task is cancelled.

    Whatever it started has ended when this returns.

    `on_start` gets the process's id and until when it is to say hello, `on_end` the processes the
    kernel could not end. Raises WorkerNotUp when it did not come up, WorkerLost when it died, and
    what answering it raised.
    """
    git = _ground(house, lane)
    process = await _start(house, lane, temporary)
    start_seconds = house.settings.start_timeout_seconds
    on_start(process.pid, house.clock() + timedelta(seconds=start_seconds))
    if process.stdin is None or process.stdout is None:
        raise RuntimeError("A worker was started without pipes.")
    watch = asyncio.create_task(_watch(process, desk, house.settings.lease_seconds))
    intake = asyncio.create_task(_take_in(house, git))
    broker = Broker(process.stdout, process.stdin, desk, start_seconds=start_seconds)
    is_cancelled = False
    try:
        is_cancelled = await _serve(broker, house, desk)
    except* CrewyardError as group:
        raise _said_where(_first(group), house, lane) from None
    finally:
        watch.cancel()
        intake.cancel()
        on_end(await end_worker(process, mark=worker_mark(temporary), limits=STOP_LIMITS))
    if process.returncode and not is_cancelled:
        raise WorkerLost(f"The worker died ({_ending(process.returncode)}).")


async def _serve(broker: Broker, house: House, desk: WorkerDesk) -> bool:
    """Serves a worker; returns True where that was broken off, as its task was cancelled."""
    serving = asyncio.create_task(broker.serve())
    cancelled = asyncio.create_task(_until_cancelled(house, desk))
    try:
        await asyncio.wait({serving, cancelled}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in (serving, cancelled):
            task.cancel()
        await asyncio.wait({serving, cancelled})
    if serving.cancelled():
        return True
    serving.result()
    return False


async def _until_cancelled(house: House, desk: WorkerDesk) -> None:
    while not desk.is_cancelled:
        await house.events.stirred()


def worker_environment(house: House, temporary: Path) -> dict[str, str]:
    """Returns the whole environment of a worker; what it starts gets its lane's as well."""
    return child_environment(
        house.environment.variables, temporary=temporary, network=house.settings.worker_network
    )


def worker_mark(temporary: Path) -> str:
    """Returns what all a worker starts carries in its environment, and nobody else's processes."""
    return f"TMPDIR={temporary}\0"


def networked_lane(house: House, lane: Lane, temporary: Path) -> LaneContext | None:
    """Returns what runs a command in a worker's lane with the network, from the lead.

    None where the worker has all the network there is.
    """
    if not house.sandbox.is_jail or house.settings.worker_network == "shared":
        return None
    jail = replace(_jail(house, lane, temporary), network="shared")
    return LaneContext(
        root=lane.path,
        environment={
            **child_environment(house.environment.variables, temporary=temporary),
            **house.preparation.variables(lane.path),
        },
        temporary=temporary,
        fence=Fence(lane.path),
        wrap=lambda argv: jailed_argv(argv, jail, house.sandbox.kind),
        # The lead writes these, and the worker may have put a link into its own folder.
        kept_in=house.paths.outputs,
        where=partial(laid_beside, temporary),
    )


async def _start(house: House, lane: Lane, temporary: Path) -> asyncio.subprocess.Process:
    jail = _jail(house, lane, temporary)
    person = house.repository.git.identity
    try:
        await asyncio.to_thread(prepare_jail, jail, house.sandbox.kind, person=person)
        with _log(house, lane).open("ab") as log:
            return await asyncio.create_subprocess_exec(
                *jailed_argv(house.worker_argv, jail, house.sandbox.kind),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=log,
                cwd=lane.path,
                env=worker_environment(house, temporary),
                start_new_session=True,
                limit=LONGEST_LINE_BYTES,
            )
    except OSError as error:
        raise WorkerLost(f"The worker's process could not be started: {error}") from error


def _said_where(error: CrewyardError, house: House, lane: Lane) -> CrewyardError:
    """Returns the error, with where to look when it is of a worker that did not come up."""
    if not isinstance(error, WorkerNotUp):
        return error
    log = _log(house, lane).relative_to(house.paths.root)
    return WorkerNotUp(f"{error} What it said is in {log}.")


def _log(house: House, lane: Lane) -> Path:
    """Returns where a worker's stderr goes."""
    return house.paths.sessions / f"{lane.name}.log"


async def _take_in(house: House, git: GitGround) -> None:
    """Takes in the lane's objects as long as it is worked in, where they lie apart."""
    if house.sandbox.kind is SandboxKind.BWRAP:
        folders = (git.admin_dir, git.common_dir / git.branch_folder)
        await keep_taking_in(git.common_dir, git.admin_dir.name, folders, house.events)


def _ground(house: House, lane: Lane) -> GitGround:
    admin_dir = admin_folder(house.repository, lane.path)
    if admin_dir is None:
        raise WorkerLost(f"git does not know the lane {lane.name}.")
    return GitGround(
        common_dir=house.repository.common_dir,
        admin_dir=admin_dir,
        branch_ref=f"refs/heads/{lane.branch}",
    )


def _jail(house: House, lane: Lane, temporary: Path) -> JailSpec:
    return JailSpec(
        folder=lane.path,
        temporary=temporary,
        git=_ground(house, lane),
        hidden=hidden_places(
            home=house.environment.home,
            user_folder=house.environment.user_folder,
            project=house.paths.root,
        ),
        writable=house.writable,
        memory_bytes=memory_bytes(house.settings),
        shown=house.preparation.links(lane.path),
        network=house.settings.worker_network,
        egress=house.egress.path,
    )


async def _watch(
    process: asyncio.subprocess.Process, desk: WorkerDesk, lease_seconds: float
) -> None:
    """Takes the task of a worker that shows no life; kills one that stays silent."""
    pulse = Pulse()
    while True:
        await asyncio.sleep(lease_seconds)
        has_spoken = desk.silent_seconds <= lease_seconds
        ticks = None if desk.pid is None else cpu_ticks(desk.pid)
        verdict = pulse.look(has_spoken=has_spoken, cpu_ticks=ticks)
        if verdict is not Verdict.LIVES:
            desk.lose_claim(f"The worker was silent for {desk.silent_seconds:.0f} s.")
        if verdict is Verdict.KILL:
            signal_group(process.pid, signal.SIGKILL)


def _ending(code: int) -> str:
    if code < 0:
        return signal.Signals(-code).name
    return f"exit code {code}"


def _first(group: BaseExceptionGroup[CrewyardError]) -> CrewyardError:
    """Returns the error of a group that says most: one a person must act on, else the first."""
    errors = list(_flat(group))
    return next((error for error in errors if isinstance(error, PersonFault)), errors[0])


def _flat(group: BaseExceptionGroup[CrewyardError]) -> Iterator[CrewyardError]:
    for error in group.exceptions:
        if isinstance(error, BaseExceptionGroup):
            yield from _flat(error)
        else:
            yield error

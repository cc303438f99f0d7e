"""One attempt of one task: lane, session, worker process, hand-in, and the clean end of each.

1. Its place is made, and made ready: a lane, a temporary folder, a conversation (`attempt_place`).
   One that a dead lead left is gone on with as it is.
2. What the lead holds for its worker is joined (`attempt_desk`), and the process started.
3. The process is served until it ends, with whatever it started.
4. What came of it is judged (`attempt_end`), unless the work is in the queue: then its verdict is.

Whatever ends an attempt, in this order: the process and its children are gone, the lane's work is
safe, the lane is closed, the claim is given back.
"""

import asyncio
from datetime import datetime

from modules.app.attempt_desk import make_desk, make_hand_in, make_subagents
from modules.app.attempt_end import AttemptEnd, AttemptEnds
from modules.app.attempt_place import (
    AttemptPlace,
    close_lane_safely,
    make_place,
    prepare_place,
)
from modules.app.attempt_worker import AttemptWorker, make_attempt_worker
from modules.app.crew import Crew
from modules.app.desk import WorkerDesk
from modules.app.finishing import finish
from modules.app.hand_in import HandIn
from modules.app.house import House
from modules.app.run_hooks import lane_fields, task_fields
from modules.app.worker_end import left_words
from modules.app.worker_process import WorkerLost, run_worker
from modules.records.crew import WorkerState
from modules.records.errors import CrewyardError
from modules.records.mail import MailSent
from modules.records.tasks import Claim, Task
from modules.safety.hook_matching import HookEvent
from modules.store.removal import remove_if_possible
from modules.team.board_rules import current_claim
from modules.team.member import Member


class Attempts:
    """Works on claimed tasks for one lead."""

    def __init__(self, house: House, crew: Crew) -> None:
        self._house = house
        self._crew = crew
        self._ends = AttemptEnds(house, hold=lambda: crew.supervisor.pause(None))
        self._letters: dict[int, list[MailSent]] = {}
        """Mail that attempts at a task have read, by the task: the next one is told it as well."""

    async def work(self, member: Member, task: Task) -> None:
        """Works on `task` until its claim is over; only a bug is raised."""
        claim = current_claim(task)
        end: AttemptEnd | None = None
        place: AttemptPlace | None = None
        try:
            place = await make_place(self._house, claim, task)
            worker = make_attempt_worker(self._house, member, claim, task, place)
            end = await self._run(worker)
        except CrewyardError as error:
            end = self._ends.of(error)
        finally:
            member.set_state(WorkerState.STOPPING)
            reason = member.leaves_because or "The crew was stopped."
            end = end or AttemptEnd(reason=reason, is_failure=False)
            await finish(self._close(claim, task, place, end))

    async def _run(self, worker: AttemptWorker) -> AttemptEnd:
        """Lets the worker work until it ends, and returns what came of it."""
        if not worker.place.session.messages:
            await self._make_ready(worker)
        hand_in = make_hand_in(worker, self._crew)
        subagents = make_subagents(worker, self._crew, hand_in)
        desk = make_desk(
            worker,
            self._crew,
            hand_in,
            subagents,
            letters=self._letters.setdefault(worker.task.task_id, []),
            on_greet=self._ends.note_start,
        )
        try:
            await self._serve(worker, desk)
        finally:
            await subagents.end_all()
        return _end_of(desk, hand_in)

    async def _make_ready(self, worker: AttemptWorker) -> None:
        """Makes a new lane ready to work in, its hooks first; their no ends the attempt."""
        fields = {**lane_fields(worker.place.lane), **task_fields(worker.task)}
        objection = await self._house.run_hooks.objection(
            HookEvent.WORKTREE_CREATE, fields, worker.caller
        )
        if objection:
            raise WorkerLost(f"A WorktreeCreate hook objects: {objection}")
        await prepare_place(self._house, worker.place)

    async def _serve(self, worker: AttemptWorker, desk: WorkerDesk) -> None:
        """Starts the worker's process and serves it until it and its children are gone."""
        house, member = self._house, worker.member

        def started(pid: int, until: datetime) -> None:
            member.pid = pid
            member.set_state(WorkerState.STARTING, until=until)

        def ended(left: list[int]) -> None:
            member.left_behind = left
            if left:
                house.events.notice(f"Of the worker {member.name} {left_words(left)}.")

        await run_worker(
            house,
            lane=worker.place.lane,
            temporary=worker.place.temporary,
            desk=desk,
            on_start=started,
            on_end=ended,
        )

    async def _close(
        self, claim: Claim, task: Task, place: AttemptPlace | None, end: AttemptEnd
    ) -> None:
        """Closes the attempt's lane, its work kept, and gives its claim back."""
        house, reason = self._house, end.reason
        if place is not None:
            place.session.close()
            closed = await close_lane_safely(self._house, place.lane)
            house.run_hooks.tell_removed(place.lane, closed)
            await asyncio.to_thread(remove_if_possible, place.temporary)
            if closed.kept:
                house.events.notice(f"The lane {place.lane.name} is kept: {closed.reason}.")
            if closed.salvage_ref and not house.board.is_current(claim):
                house.events.notice(
                    f"What attempt {claim.attempt} of task {claim.task} left in its lane is kept "
                    f"in {closed.salvage_ref}."
                )
            if closed.salvage_ref:
                reason = f"{reason} Its work is kept in {closed.salvage_ref}."
        # Work that is in the queue already needs no worker; its verdict decides.
        if not house.board.is_current(claim) or house.merging.holds(claim):
            return
        if end.is_parked:
            house.board.park(
                task.task_id, reason=reason, by="lead", until=end.parked_until, held=claim
            )
        else:
            house.board.release(claim, reason=reason, is_failure=end.is_failure, by="lead")


def _end_of(desk: WorkerDesk, hand_in: HandIn) -> AttemptEnd:
    """Returns how an attempt ended whose worker ended by itself; keeps why it gave up."""
    if desk.failure:
        hand_in.keep_result(desk.failure, outcome="not handed in")
        return AttemptEnd(reason=desk.failure, is_failure=True)
    return AttemptEnd(
        reason="The worker ended without handing work in.", is_failure=not hand_in.is_over
    )

"""One attempt of one task: lane, session, worker process, hand-in, and the clean end of each.

Whatever ends an attempt, in this order: the process and its children are gone, the lane's work is
safe, the lane is closed, the claim is given back.
"""

import asyncio
from collections.abc import Callable
from datetime import datetime, timedelta

from msgspec.structs import replace

from modules.agent.brain import Head
from modules.agent.tool_pool import ToolPool
from modules.app.approval import approve_submission
from modules.app.attempt_end import AttemptEnd, AttemptEnds
from modules.app.attempt_place import (
    AttemptPlace,
    close_lane_safely,
    make_place,
    prepare_place,
)
from modules.app.compaction import AgentCompaction
from modules.app.crew import Crew
from modules.app.desk import WorkerDesk
from modules.app.finishing import finish
from modules.app.gates import Toolset, make_pool
from modules.app.hand_in import HandIn
from modules.app.house import House
from modules.app.remote_subagents import RemoteSubAgents
from modules.app.rework_words import handover_words
from modules.app.run_hooks import lane_fields, stop_fields, task_fields
from modules.app.subagents import SubAgents, Superior
from modules.app.worker_end import left_words
from modules.app.worker_process import WorkerLost, networked_lane, run_worker, worker_environment
from modules.context.prompts import task_opening, worker_prompt
from modules.git.lane_state import Lane
from modules.records.crew import WorkerState
from modules.records.decisions import Mode
from modules.records.errors import CrewyardError
from modules.records.mail import MailSent
from modules.records.messages import said
from modules.records.protocol import Assigned
from modules.records.settings import Role, tools_of_both
from modules.records.tasks import Claim, Task
from modules.safety.ground import Ground
from modules.safety.hook_matching import HookEvent
from modules.safety.hooks import Caller
from modules.safety.permissions import Standing
from modules.store.removal import remove_if_possible
from modules.team.board_rules import current_claim
from modules.team.member import Member
from tools.catalog import LANE_TOOLS, worker_tools
from tools.crew_context import CrewContext
from tools.subagent import SUBAGENT_TOOL

BEATS_PER_LEASE = 6
GO_ON = (
    "The lead was started anew. Your worktree is as you left it; a call that was running was "
    "interrupted, and nothing runs in the background. Go on where you were."
)


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
            end = await self._run(member, claim, task, place)
        except CrewyardError as error:
            end = self._ends.of(error)
        finally:
            member.set_state(WorkerState.STOPPING)
            reason = member.leaves_because or "The crew was stopped."
            end = end or AttemptEnd(reason=reason, is_failure=False)
            await finish(self._close(claim, task, place, end))

    async def _run(
        self, member: Member, claim: Claim, task: Task, place: AttemptPlace
    ) -> AttemptEnd:
        house = self._house
        role_name = member.role or task.draft.role
        role = house.settings.roles.get(role_name, Role())
        role = replace(role, tools=tools_of_both(role.tools, member.tools))
        caller = self._caller(member, role_name, place)
        if not place.session.messages:
            await self._announce_lane(task, place.lane, caller)
            await prepare_place(house, place)
        hand_in = HandIn(
            repository=house.repository,
            task=task,
            claim=claim,
            lane=place.lane,
            member=member,
            board=house.board,
            merging=house.merging,
            landed_ref=house.queue.landed_ref,
            approve=lambda submission: approve_submission(house, submission),
            reviews=self._crew.reviews,
            mask=house.mask.masked,
            may_complete=lambda: house.run_hooks.objection(
                HookEvent.TASK_COMPLETED, task_fields(task), caller
            ),
            needs_plan=role.plan or task.draft.plan,
        )
        model = member.model or task.draft.model or role.model or house.settings.worker_model
        standing = self._standing(member, role_name, role, place, hand_in)
        pool = self._pool(
            member, role, place, hand_in, standing, lambda focus: brain.compactor.wish(focus)
        )
        subagents = RemoteSubAgents(
            SubAgents(
                house,
                Superior(
                    session=place.session,
                    model=model,
                    task=task,
                    standing=standing,
                    lane=None,
                    crew=self._crew,
                    allowed=role.tools,
                ),
            )
        )
        brain = house.models.brain(
            model,
            session=place.session,
            pool=pool,
            head=lambda model: self._head(model, member, role_name, role, task, place),
            needs=AgentCompaction(
                house,
                agent=member.name,
                task=task.task_id,
                outputs=place.temporary / "outputs",
                caller=lambda: caller,
                facts=lambda: "",
            ),
            task=task.task_id,
        )
        desk = WorkerDesk(
            member=member,
            claim=claim,
            board=house.board,
            mailbox=house.mailbox,
            brain=brain,
            pool=pool,
            assigned=self._assigned(member, task, place, role),
            lease=timedelta(seconds=house.settings.lease_seconds),
            subagents=subagents,
            hand_in=hand_in,
            mask=house.mask.masked,
            on_greet=self._ends.note_start,
            letters=self._letters.setdefault(task.task_id, []),
            clash_letters=lambda: house.clashes.letters(claim.task),
            may_stop=lambda words, is_again: house.run_hooks.objection(
                HookEvent.SUBAGENT_STOP, stop_fields(words, is_again=is_again), caller
            ),
        )

        def started(pid: int, until: datetime) -> None:
            member.pid = pid
            member.set_state(WorkerState.STARTING, until=until)

        def ended(left: list[int]) -> None:
            member.left_behind = left
            if left:
                house.events.notice(f"Of the worker {member.name} {left_words(left)}.")

        try:
            await run_worker(
                house,
                lane=place.lane,
                temporary=place.temporary,
                desk=desk,
                on_start=started,
                on_end=ended,
            )
        finally:
            await subagents.end_all()
        if desk.failure:
            hand_in.keep_result(desk.failure, outcome="not handed in")
            return AttemptEnd(reason=desk.failure, is_failure=True)
        return AttemptEnd(
            reason="The worker ended without handing work in.", is_failure=not hand_in.is_over
        )

    def _caller(self, member: Member, role_name: str, place: AttemptPlace) -> Caller:
        """Returns the worker as its hooks are told of it."""
        house, session_id = self._house, place.session.session_id
        return Caller(
            session_id=session_id,
            transcript=house.paths.sessions / f"{session_id}.jsonl",
            folder=place.lane.path,
            mode=_mode(member, place),
            agent=member.name,
            role=role_name,
        )

    async def _announce_lane(self, task: Task, lane: Lane, caller: Caller) -> None:
        """Lets the WorktreeCreate hooks make a new lane ready; a no ends the attempt."""
        fields = {**lane_fields(lane), **task_fields(task)}
        objection = await self._house.run_hooks.objection(HookEvent.WORKTREE_CREATE, fields, caller)
        if objection:
            raise WorkerLost(f"A WorktreeCreate hook objects: {objection}")

    def _pool(
        self,
        member: Member,
        role: Role,
        place: AttemptPlace,
        hand_in: HandIn,
        standing: Callable[[], Standing],
        wish_compaction: Callable[[str], None],
    ) -> ToolPool:
        house = self._house
        networked = networked_lane(house, place.lane, place.temporary)
        return make_pool(
            house,
            session=place.session,
            toolset=Toolset(
                lane_tools=LANE_TOOLS,
                lane=None,
                crew_tools=worker_tools(
                    role.tools,
                    needs_plan=hand_in.needs_plan,
                    may_ask_for_network=house.questions.has_person and networked is not None,
                ),
                crew=CrewContext(
                    agent=member.name,
                    crew=self._crew,
                    submitter=hand_in,
                    networked=networked,
                    wish_compaction=wish_compaction,
                ),
                allowed=role.tools,
                subagent_tools=(SUBAGENT_TOOL,),
            ),
            standing=standing,
        )

    def _standing(
        self, member: Member, role_name: str, role: Role, place: AttemptPlace, hand_in: HandIn
    ) -> Callable[[], Standing]:
        """Returns what tells, at any time, how the worker stands."""
        house = self._house
        return lambda: Standing(
            agent=member.name,
            role=role_name,
            is_worker=True,
            is_jailed=house.sandbox.is_jail,
            mode=Mode.PLAN if hand_in.needs_plan else _mode(member, place),
            rules=role.rules,
            ground=Ground(
                root=place.lane.path,
                main_checkout=house.paths.root,
                home=house.environment.home,
                user_folder=house.environment.user_folder,
                tmp=place.temporary,
                is_worker=True,
                allowed_hosts=house.settings.web_allow,
            ),
        )

    def _head(
        self,
        model: str,
        member: Member,
        role_name: str,
        role: Role,
        task: Task,
        place: AttemptPlace,
    ) -> Head:
        house = self._house
        checks = [check for check in (house.settings.check, task.draft.check) if check]
        return Head(
            agent=member.name,
            task=task.draft.subject,
            model=model,
            system=worker_prompt(
                name=member.name,
                role=role_name,
                role_prompt=role.prompt,
                lane=str(place.lane.path),
                branch=place.lane.branch,
                base=place.lane.base,
                check=" and then ".join(checks),
                landed_ref=house.queue.landed_ref,
                needs_plan=role.plan or task.draft.plan,
            ),
        )

    def _assigned(self, member: Member, task: Task, place: AttemptPlace, role: Role) -> Assigned:
        house = self._house
        names = tuple(
            tool.name for tool in LANE_TOOLS if role.tools is None or tool.name in role.tools
        )
        return Assigned(
            worker=member.name,
            lane=str(place.lane.path),
            temporary=str(place.temporary),
            environment={
                **worker_environment(house, place.temporary),
                **house.preparation.variables(place.lane.path),
            },
            tools=names,
            opening=said(self._opening(task, place)),
            beat_seconds=house.settings.lease_seconds / BEATS_PER_LEASE,
        )

    def _opening(self, task: Task, place: AttemptPlace) -> str:
        """Returns the first words to a worker: its task, and what came of earlier attempts."""
        if place.session.messages:
            return GO_ON
        told = [task.reason]
        if place.handover is not None:
            landed_ref, root = self._house.queue.landed_ref, self._house.paths.root
            told.append(handover_words(place.handover, landed_ref=landed_ref, root=root))
        return task_opening(task, previous="\n".join(filter(None, told)))

    async def _close(
        self, claim: Claim, task: Task, place: AttemptPlace | None, end: AttemptEnd
    ) -> None:
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


def _mode(member: Member, place: AttemptPlace) -> Mode:
    """Returns how much a worker may do unasked now; never more than the lead."""
    lead = place.lead_mode()
    return lead if member.mode is None else member.mode.at_most(lead)

"""Joins what the lead holds for an attempt's worker: hand-in, sub-agents, gate, model, desk."""

from collections.abc import Callable
from datetime import timedelta

from modules.agent.tool_pool import ToolPool
from modules.app.approval import approve_submission
from modules.app.attempt_worker import AttemptWorker
from modules.app.compaction import AgentCompaction
from modules.app.crew import Crew
from modules.app.desk import WorkerDesk
from modules.app.gates import Toolset, make_pool
from modules.app.hand_in import HandIn
from modules.app.remote_subagents import RemoteSubAgents
from modules.app.run_hooks import stop_fields, task_fields
from modules.app.subagents import SubAgents, Superior
from modules.app.worker_process import networked_lane
from modules.records.mail import MailSent
from modules.safety.hook_matching import HookEvent
from tools.catalog import LANE_TOOLS, worker_tools
from tools.crew_context import CrewContext
from tools.subagent import SUBAGENT_TOOL


def make_hand_in(worker: AttemptWorker, crew: Crew) -> HandIn:
    """Returns what takes in the attempt's work."""
    house, task = worker.house, worker.task
    return HandIn(
        repository=house.repository,
        task=task,
        claim=worker.claim,
        lane=worker.place.lane,
        member=worker.member,
        board=house.board,
        merging=house.merging,
        landed_ref=house.queue.landed_ref,
        approve=lambda submission: approve_submission(house, submission),
        reviews=crew.reviews,
        mask=house.mask.masked,
        may_complete=lambda: house.run_hooks.objection(
            HookEvent.TASK_COMPLETED, task_fields(task), worker.caller
        ),
        needs_plan=worker.needs_plan,
    )


def make_subagents(worker: AttemptWorker, crew: Crew, hand_in: HandIn) -> RemoteSubAgents:
    """Returns what makes the worker's sub-agents, and ends them."""
    superior = Superior(
        session=worker.place.session,
        model=worker.model,
        task=worker.task,
        standing=lambda: worker.standing(hand_in),
        lane=None,
        crew=crew,
        allowed=worker.role.tools,
    )
    return RemoteSubAgents(SubAgents(worker.house, superior))


def make_desk(
    worker: AttemptWorker,
    crew: Crew,
    hand_in: HandIn,
    subagents: RemoteSubAgents,
    *,
    letters: list[MailSent],
    on_greet: Callable[[], None],
) -> WorkerDesk:
    """Returns what answers the worker's process; `letters` is the mail read at its task so far."""
    house, member, task, place = worker.house, worker.member, worker.task, worker.place
    pool = _make_gate(worker, crew, hand_in, lambda focus: brain.compactor.wish(focus))
    brain = house.models.brain(
        worker.model,
        session=place.session,
        pool=pool,
        head=worker.head,
        needs=AgentCompaction(
            house,
            agent=member.name,
            task=task.task_id,
            outputs=place.temporary / "outputs",
            caller=lambda: worker.caller,
            facts=lambda: "",
        ),
        task=task.task_id,
    )
    return WorkerDesk(
        member=member,
        claim=worker.claim,
        board=house.board,
        mailbox=house.mailbox,
        brain=brain,
        pool=pool,
        assigned=worker.assigned(),
        lease=timedelta(seconds=house.settings.lease_seconds),
        subagents=subagents,
        hand_in=hand_in,
        mask=house.mask.masked,
        on_greet=on_greet,
        letters=letters,
        clash_letters=lambda: house.clashes.letters(worker.claim.task),
        may_stop=lambda words, is_again: house.run_hooks.objection(
            HookEvent.SUBAGENT_STOP, stop_fields(words, is_again=is_again), worker.caller
        ),
    )


def _make_gate(
    worker: AttemptWorker, crew: Crew, hand_in: HandIn, wish_compaction: Callable[[str], None]
) -> ToolPool:
    """Returns the worker's gate, with the tools it may use."""
    house, role = worker.house, worker.role
    networked = networked_lane(house, worker.place.lane, worker.place.temporary)
    return make_pool(
        house,
        session=worker.place.session,
        toolset=Toolset(
            lane_tools=LANE_TOOLS,
            lane=None,
            crew_tools=worker_tools(
                role.tools,
                needs_plan=hand_in.needs_plan,
                may_ask_for_network=house.questions.has_person and networked is not None,
            ),
            crew=CrewContext(
                agent=worker.member.name,
                crew=crew,
                submitter=hand_in,
                networked=networked,
                wish_compaction=wish_compaction,
            ),
            allowed=role.tools,
            subagent_tools=(SUBAGENT_TOOL,),
        ),
        standing=lambda: worker.standing(hand_in),
    )

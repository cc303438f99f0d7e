"""Joins the lead's agent: its conversation, its gate, its model."""

from collections.abc import Callable
from pathlib import Path

from modules.agent.brain import Head
from modules.agent.tool_pool import ToolPool
from modules.app.cli_options import LAST
from modules.app.compaction import AgentCompaction
from modules.app.crew_digest import crew_digest
from modules.app.gates import Toolset, make_pool
from modules.app.guard_wiring import lead_ground
from modules.app.house import House
from modules.app.jails import lead_lane
from modules.app.lead_agent import LeadAgent
from modules.app.run import Run
from modules.app.subagents import SubAgents, Superior
from modules.context.prompts import lead_opening, lead_prompt
from modules.context.session import Session
from modules.records.errors import PersonFault
from modules.safety.hooks import Caller
from modules.safety.permissions import Standing
from modules.team.addresses import LEAD
from tools.catalog import LANE_TOOLS, LEAD_TOOLS
from tools.crew_context import CrewContext
from tools.lane_context import LaneContext
from tools.subagent import SUBAGENT_TOOL


def join_lead(run: Run) -> LeadAgent:
    """Returns the lead's agent for a run."""
    house = run.house
    run.crew.has_lead = True
    session = Session(_lead_journal(house, run.resume), clock=house.clock)
    session.open(agent=LEAD)
    temporary = house.paths.temporary / LEAD
    lane = lead_lane(house, temporary)
    run.at_end(lane.background.stop_all)

    def standing() -> Standing:
        return Standing(
            agent=LEAD,
            role="",
            is_worker=False,
            is_jailed=house.sandbox.is_jail,
            mode=house.permissions.mode,
            ground=lead_ground(house.paths, house.environment, house.settings, temporary),
        )

    pool = _make_gate(
        run, session, lane, standing, wish_compaction=lambda focus: brain.compactor.wish(focus)
    )
    brain = house.models.brain(
        house.settings.model,
        session=session,
        pool=pool,
        head=lambda model: Head(agent=LEAD, model=model, system=lead_system_prompt(house)),
        needs=AgentCompaction(
            house,
            agent=LEAD,
            task=None,
            outputs=house.paths.outputs,
            caller=lambda: _lead_caller(house, session.session_id),
            facts=lambda: crew_digest(run.crew.tasks(), run.crew.workers()),
        ),
    )
    return LeadAgent(
        session=session,
        brain=brain,
        pool=pool,
        mailbox=house.mailbox,
        background=lane.background,
        opening=lambda: lead_opening(
            target=house.repository.target,
            commit=house.queue.landed,
            today=house.clock().date(),
            hook_context=run.hook_context,
        ),
        ask_hooks=lambda event, fields: house.run_hooks.ask(
            event, fields, _lead_caller(house, session.session_id)
        ),
    )


def _make_gate(
    run: Run,
    session: Session,
    lane: LaneContext,
    standing: Callable[[], Standing],
    *,
    wish_compaction: Callable[[str], None],
) -> ToolPool:
    """Returns the lead's gate, with its tools and its sub-agents."""
    house = run.house
    superior = Superior(
        session=session,
        model=house.settings.model,
        task=None,
        standing=standing,
        lane=lane,
        crew=run.crew,
        allowed=None,
    )
    return make_pool(
        house,
        session=session,
        toolset=Toolset(
            lane_tools=LANE_TOOLS,
            lane=lane,
            crew_tools=LEAD_TOOLS,
            crew=CrewContext(agent=LEAD, crew=run.crew, wish_compaction=wish_compaction),
            subagent_tools=(SUBAGENT_TOOL,),
            subagents=SubAgents(house, superior),
        ),
        standing=standing,
    )


def _lead_caller(house: House, session_id: str) -> Caller:
    """Returns the lead as its hooks are told of it."""
    return Caller(
        session_id=session_id,
        transcript=house.paths.sessions / f"{session_id}.jsonl",
        folder=house.paths.root,
        mode=house.permissions.mode,
    )


def _lead_journal(house: House, resume: str | None) -> Path:
    """Returns a new conversation's journal, or that of the one to go on with."""
    folder = house.paths.sessions
    if resume is None:
        return folder / f"lead-{house.clock():%Y%m%d-%H%M%S}-{house.pid}.jsonl"
    found = sorted(path.stem for path in folder.glob("lead-*.jsonl"))
    wanted = found[-1] if resume == LAST and found else resume
    if wanted not in found:
        raise PersonFault(
            f"There is no conversation {resume!r} to go on with.",
            hint=f"There are: {', '.join(found[-5:]) or 'none yet'}.",
        )
    return folder / f"{wanted}.jsonl"


def lead_system_prompt(house: House) -> str:
    """Returns what the lead's model is told at the head of every request."""
    return lead_prompt(
        root=str(house.paths.root),
        check=house.settings.check,
        target=house.repository.target,
    )

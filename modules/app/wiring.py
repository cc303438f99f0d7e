"""The one place that joins objects: what a run is made of."""

import asyncio
import os
import random
from datetime import timedelta
from pathlib import Path

from modules.agent.brain import Head
from modules.app.attempt import Attempts
from modules.app.budget import Budget
from modules.app.clash_watch import ClashWatch
from modules.app.cli_options import LAST, RunOptions
from modules.app.compaction import AgentCompaction
from modules.app.crew import Crew
from modules.app.crew_digest import crew_digest
from modules.app.crew_events import task_event, worker_event
from modules.app.event_bus import EventBus
from modules.app.gates import Toolset, make_pool
from modules.app.house import House
from modules.app.jails import (
    check_jail,
    egress_proxy,
    granted_folders,
    lead_lane,
    network_warnings,
)
from modules.app.known_secrets import known_secrets, mask_file
from modules.app.lead_agent import LeadAgent
from modules.app.mcp_launch import launch_for, servers_of
from modules.app.merging import MergeDriver
from modules.app.models import Models
from modules.app.opening import (
    Opened,
    now,
    open_repository_at,
    refuse_tracked_state,
    settings_for,
)
from modules.app.preparing import make_preparation
from modules.app.program import WORKER_ARGV
from modules.app.questions import QuestionDesk
from modules.app.run import Run
from modules.app.run_hooks import RunHooks
from modules.app.settings_check import settings_warnings
from modules.app.spare_lanes import SpareLanes
from modules.app.subagents import SubAgents, Superior
from modules.app.wait_notes import WaitNotes
from modules.context.prompts import lead_opening, lead_prompt
from modules.context.session import Session
from modules.context.spill import sweep_spills
from modules.git.check_tree import remove_check_trees
from modules.git.lane_objects import drop_left_over
from modules.git.lane_sweep import sweep_lanes
from modules.git.lock_sweep import sweep_locks
from modules.git.merging import sweep_cells
from modules.git.salvage import sweep_index_copies
from modules.git.spare_trees import remove_spares
from modules.git.state import save_state
from modules.git.worktree_gaps import worktree_gaps
from modules.mcp_client.session import McpHub
from modules.mcp_client.values import ServerEntry
from modules.providers.choose import choose_model
from modules.providers.provider import Provider
from modules.providers.retrying import Retrying
from modules.records.errors import PersonFault
from modules.records.settings import Environment, Limit, Settings
from modules.safety.child_environment import child_environment
from modules.safety.grants import Grants
from modules.safety.ground import Ground
from modules.safety.hook_settings import HookFile, read_hooks
from modules.safety.hooks import Caller, HookRunner
from modules.safety.permissions import PermissionManager, Standing
from modules.safety.sandbox import probe
from modules.safety.secrets import SecretMask
from modules.safety.trust import TrustStatus
from modules.safety.web_guard import WebGuard
from modules.store.files import sweep_unfinished
from modules.store.paths import Paths
from modules.team.addresses import LEAD
from modules.team.check import end_left_over_setups
from modules.team.mailbox import Mailbox
from modules.team.merge_queue import MergeQueue
from modules.team.supervisor import Supervisor
from modules.team.task_board import TaskBoard
from tools.catalog import LANE_TOOLS, LEAD_TOOLS
from tools.crew_context import CrewContext
from tools.subagent import SUBAGENT_TOOL

USER_HOOKS = "hooks.json"


def join_run(
    folder: Path,
    options: RunOptions,
    *,
    has_person: bool,
    worker_argv: tuple[str, ...] = WORKER_ARGV,
) -> Run:
    """Returns a run on the repository `folder` lies in; raises PersonFault when it can't start.

    `worker_argv` is the program that says hello as a worker.
    """
    opened = open_repository_at(folder, target=options.target or "")
    refuse_tracked_state(opened)
    settings, trust = settings_for(opened, options.flags())
    if settings.target and settings.target != opened.repository.target:
        opened = open_repository_at(folder, target=settings.target)
    events = EventBus(now)
    budget = Budget(
        run=Limit(
            usd=settings.budget_usd,
            tokens=settings.budget_tokens,
            minutes=settings.budget_minutes,
        ),
        task=settings.task_budget,
        worker=settings.worker_budget,
        clock=now,
        warn=events.notice,
    )
    servers = servers_of(opened, is_trusted=trust is TrustStatus.TRUSTED)
    mask = SecretMask(known_secrets(opened.environment, settings, servers))
    waits = WaitNotes(now)
    models = _models(opened, settings, budget, events, waits, mask)
    models.check(settings.worker_model)
    house = _house(
        opened,
        settings,
        trust,
        events,
        waits,
        budget,
        models,
        mask,
        servers,
        worker_argv,
        has_person=has_person,
    )
    crew = Crew(house)
    supervisor = Supervisor(
        house.board,
        most_workers=settings.workers,
        lease=timedelta(seconds=settings.lease_seconds),
        attempt=Attempts(house, crew).work,
        clock=now,
        on_change=lambda member: events.emit(worker_event(member, at=now())),
    )
    crew.join(supervisor)
    return Run(house, crew, supervisor, resume=options.resume)


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
            ground=_ground(house.paths, house.environment, house.settings, temporary),
        )

    superior = Superior(
        session=session,
        model=house.settings.model,
        task=None,
        standing=standing,
        lane=lane,
        crew=run.crew,
        allowed=None,
    )
    pool = make_pool(
        house,
        session=session,
        toolset=Toolset(
            lane_tools=LANE_TOOLS,
            lane=lane,
            crew_tools=LEAD_TOOLS,
            crew=CrewContext(
                agent=LEAD, crew=run.crew, wish_compaction=lambda focus: brain.compactor.wish(focus)
            ),
            subagent_tools=(SUBAGENT_TOOL,),
            subagents=SubAgents(house, superior),
        ),
        standing=standing,
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


def _lead_caller(house: House, session_id: str) -> Caller:
    """Returns the lead as its hooks are told of it."""
    return Caller(
        session_id=session_id,
        transcript=house.paths.sessions / f"{session_id}.jsonl",
        folder=house.paths.root,
        mode=house.permissions.mode,
    )


def _ground(
    paths: Paths, environment: Environment, settings: Settings, temporary: Path | None
) -> Ground:
    """Returns where the lead's calls are judged from."""
    return Ground(
        root=paths.root,
        main_checkout=paths.root,
        home=environment.home,
        user_folder=environment.user_folder,
        tmp=temporary,
        allowed_hosts=settings.web_allow,
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


def _models(
    opened: Opened,
    settings: Settings,
    budget: Budget,
    events: EventBus,
    waits: WaitNotes,
    mask: SecretMask,
) -> Models:
    def retrying(provider: Provider, agent: str) -> Provider:
        async def sleep(seconds: float) -> None:
            with waits.waiting(agent, "its model's provider", at_most_seconds=seconds):
                await asyncio.sleep(seconds)

        return Retrying(
            provider,
            sleep=sleep,
            random=random.random,
            clock=now,
            notice=events.notice,
        )

    return Models(
        choose=lambda spec: choose_model(
            spec or settings.model, settings, opened.environment, clock=now, sleep=asyncio.sleep
        ),
        retrying=retrying,
        budget=budget,
        events=events,
        mask=mask.masked,
    )


def _house(
    opened: Opened,
    settings: Settings,
    trust: TrustStatus,
    events: EventBus,
    waits: WaitNotes,
    budget: Budget,
    models: Models,
    mask: SecretMask,
    servers: tuple[ServerEntry, ...],
    worker_argv: tuple[str, ...],
    *,
    has_person: bool,
) -> House:
    environment, paths = opened.environment, opened.paths
    board = TaskBoard(paths, clock=now, on_change=lambda task: events.emit(task_event(task)))
    sandbox = probe(environment)
    grants = Grants(environment.user_folder, paths.root)
    writable, missing = granted_folders(settings, paths.root, environment)
    preparation = make_preparation(opened, settings, sandbox, writable)
    queue = MergeQueue(
        opened.repository,
        check=settings.check,
        check_timeout_seconds=settings.check_timeout_seconds,
        strategy=settings.strategy,
        proves_each=settings.queue.prove == "each",
        clock=now,
        on_change=lambda entry: merging.changed(entry),
        may_land=lambda entry: merging.may_land(entry),
        environment=child_environment(environment.variables, temporary=paths.temporary / "check-1"),
        cores=os.cpu_count() or 1,
        wrap=check_jail(
            opened,
            settings,
            sandbox,
            shown=lambda tree: preparation.links(tree) + preparation.kept(tree),
        ),
        preparation=preparation,
        on_log=lambda log: mask_file(log, mask),
    )
    merging = MergeDriver(
        queue,
        board,
        events,
        after_landing=lambda: save_state(opened.repository, when=now()),
    )
    clashes = ClashWatch(opened.repository, board, queue, events)
    events.listen(clashes.take_event)
    is_trusted = trust is TrustStatus.TRUSTED
    hook_files = read_hook_files(opened, is_trusted=is_trusted)
    hooks = HookRunner(
        [hook for file in hook_files for hook in file.hooks],
        project=paths.root,
        variables=environment.variables,
    )
    permissions = PermissionManager(
        settings.rules + grants.rules(), mode=settings.mode, store=grants.add
    )
    run_hooks = RunHooks(
        hooks,
        events=events,
        caller=lambda: Caller(
            session_id=f"run-{os.getpid()}",
            transcript=paths.sessions,
            folder=paths.root,
            mode=permissions.mode,
        ),
    )
    events.listen(run_hooks.take_event)
    return House(
        clock=now,
        environment=environment,
        settings=settings,
        repository=opened.repository,
        paths=paths,
        events=events,
        board=board,
        mailbox=Mailbox(paths, clock=now),
        queue=queue,
        merging=merging,
        clashes=clashes,
        spares=SpareLanes(
            opened.repository, events, landed=lambda: queue.landed, most=settings.lane.spare
        ),
        preparation=preparation,
        permissions=permissions,
        standings={},
        hooks=hooks,
        run_hooks=run_hooks,
        waits=waits,
        questions=QuestionDesk(
            events, waits, has_person=has_person, timeout_seconds=settings.ask_timeout_seconds
        ),
        mcp=McpHub(launch_for(opened, settings, sandbox)),
        mcp_servers=servers,
        mask=mask,
        web=WebGuard(_ground(paths, environment, settings, None)),
        sandbox=sandbox,
        egress=egress_proxy(opened, settings),
        worker_argv=worker_argv,
        writable=writable,
        budget=budget,
        models=models,
        warnings=(
            *settings_warnings(settings, grants.rules(), hook_files),
            *network_warnings(settings, sandbox),
            *missing,
            *preparation.problems(),
            *worktree_gaps(opened.repository, opened.repository.target_ref),
        ),
        sweep=lambda: _sweep(opened),
        tidy=lambda: _tidy(opened),
        pid=os.getpid(),
        failed=asyncio.get_running_loop().create_future(),
    )


def _sweep(opened: Opened) -> list[str]:
    """Puts right what a dead lead left and deletes spilled output nobody needs any more."""
    paths = opened.paths
    end_left_over_setups(paths.lanes)
    sweep_spills(paths.outputs, now=now())
    sweep_index_copies(opened.repository)
    sweep_cells(opened.repository)
    remove_spares(opened.repository)
    # Only the lead writes these.
    sweep_unfinished(paths.team, paths.crew.name)
    sweep_unfinished(paths.results)
    sweep_unfinished(paths.checks)
    lines = sweep_lanes(opened.repository, now=now())
    return [*lines, *sweep_locks(opened.repository, now=now())]


def _tidy(opened: Opened) -> None:
    """Leaves a run's end state: the journals kept once more, what lanes left gone."""
    save_state(opened.repository, when=now())
    remove_check_trees(opened.repository)
    drop_left_over(opened.repository.common_dir)
    remove_spares(opened.repository)


def read_hook_files(opened: Opened, *, is_trusted: bool) -> tuple[HookFile, ...]:
    """Returns the person's own hooks and, of a trusted folder, the repository's."""
    paths = [opened.environment.user_folder / USER_HOOKS]
    if is_trusted:
        paths.append(opened.paths.hook_settings)
    return tuple(read_hooks(path) for path in paths)

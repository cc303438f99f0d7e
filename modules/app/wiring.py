"""Joins the objects of a run into its house.

Each room has a file: `model_wiring` (budget, secrets, providers), `queue_wiring` (the merge queue
and what follows a landing), `guard_wiring` (permissions, hooks). `lead_wiring` joins the lead.
"""

import asyncio
import os
from datetime import timedelta
from pathlib import Path

from modules.app.attempt import Attempts
from modules.app.clash_watch import ClashWatch
from modules.app.cli_options import RunOptions
from modules.app.crew import Crew
from modules.app.crew_events import task_event, worker_event
from modules.app.event_bus import EventBus
from modules.app.guard_wiring import join_guards, lead_ground
from modules.app.house import House
from modules.app.jails import egress_proxy, granted_folders, network_warnings
from modules.app.mcp_launch import launch_for, servers_of
from modules.app.model_wiring import ModelRoom, join_models
from modules.app.opening import Opened, now, open_repository_at, refuse_tracked_state, settings_for
from modules.app.preparing import make_preparation
from modules.app.program import WORKER_ARGV
from modules.app.questions import QuestionDesk
from modules.app.queue_wiring import join_queue
from modules.app.run import Run
from modules.app.run_sweep import sweep_run, tidy_run
from modules.app.spare_lanes import SpareLanes
from modules.git.worktree_gaps import worktree_gaps
from modules.mcp_client.session import McpHub
from modules.mcp_client.values import ServerEntry
from modules.records.settings import Settings
from modules.safety.sandbox import probe
from modules.safety.trust import TrustStatus
from modules.safety.web_guard import WebGuard
from modules.team.mailbox import Mailbox
from modules.team.supervisor import Supervisor
from modules.team.task_board import TaskBoard


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
    servers = servers_of(opened, is_trusted=trust is TrustStatus.TRUSTED)
    house = _join_house(
        opened,
        settings,
        events,
        join_models(opened, settings, events, servers),
        servers,
        worker_argv,
        is_trusted=trust is TrustStatus.TRUSTED,
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


def _join_house(
    opened: Opened,
    settings: Settings,
    events: EventBus,
    room: ModelRoom,
    servers: tuple[ServerEntry, ...],
    worker_argv: tuple[str, ...],
    *,
    is_trusted: bool,
    has_person: bool,
) -> House:
    """Joins board, queue, guards and the way to the models into the objects of one run."""
    environment, paths = opened.environment, opened.paths
    board = TaskBoard(paths, clock=now, on_change=lambda task: events.emit(task_event(task)))
    sandbox = probe(environment)
    writable, missing = granted_folders(settings, paths.root, environment)
    preparation = make_preparation(opened, settings, sandbox, writable)
    queue, merging = join_queue(
        opened,
        settings,
        board,
        events,
        mask=room.mask,
        sandbox=sandbox,
        preparation=preparation,
    )
    clashes = ClashWatch(opened.repository, board, queue, events)
    events.listen(clashes.take_event)
    guards = join_guards(opened, settings, events, is_trusted=is_trusted)
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
        permissions=guards.permissions,
        standings={},
        hooks=guards.hooks,
        run_hooks=guards.run_hooks,
        waits=room.waits,
        questions=QuestionDesk(
            events, room.waits, has_person=has_person, timeout_seconds=settings.ask_timeout_seconds
        ),
        mcp=McpHub(launch_for(opened, settings, sandbox)),
        mcp_servers=servers,
        mask=room.mask,
        web=WebGuard(lead_ground(paths, environment, settings, None)),
        sandbox=sandbox,
        egress=egress_proxy(opened, settings),
        worker_argv=worker_argv,
        writable=writable,
        budget=room.budget,
        models=room.models,
        warnings=(
            *guards.warnings,
            *network_warnings(settings, sandbox),
            *missing,
            *preparation.problems(),
            *worktree_gaps(opened.repository, opened.repository.target_ref),
        ),
        sweep=lambda: sweep_run(opened),
        tidy=lambda: tidy_run(opened),
        pid=os.getpid(),
        failed=asyncio.get_running_loop().create_future(),
    )

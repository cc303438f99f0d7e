"""Joins the merge queue: its checks, their sandbox, and what follows a landing."""

import os

from modules.app.event_bus import EventBus
from modules.app.jails import check_jail
from modules.app.known_secrets import mask_file
from modules.app.merging import MergeDriver
from modules.app.opening import Opened, now
from modules.git.state import save_state
from modules.records.settings import Settings
from modules.safety.child_environment import child_environment
from modules.safety.sandbox import Probe
from modules.safety.secrets import SecretMask
from modules.team.merge_queue import MergeQueue
from modules.team.preparation import Preparation
from modules.team.task_board import TaskBoard


def join_queue(
    opened: Opened,
    settings: Settings,
    board: TaskBoard,
    events: EventBus,
    *,
    mask: SecretMask,
    sandbox: Probe,
    preparation: Preparation,
) -> tuple[MergeQueue, MergeDriver]:
    """Joins the queue with what drives it and completes the board's tasks."""
    environment, paths = opened.environment, opened.paths
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
    return queue, merging

"""Joins what guards a run: permissions, hooks, and the ground calls are judged from."""

import os
from dataclasses import dataclass
from pathlib import Path

from modules.app.event_bus import EventBus
from modules.app.opening import Opened
from modules.app.run_hooks import RunHooks
from modules.app.settings_check import settings_warnings
from modules.records.settings import Environment, Settings
from modules.safety.grants import Grants
from modules.safety.ground import Ground
from modules.safety.hook_settings import HookFile, read_hooks
from modules.safety.hooks import Caller, HookRunner
from modules.safety.permissions import PermissionManager
from modules.store.paths import Paths

USER_HOOKS = "hooks.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class GuardRoom:
    """What decides about calls, and what else is asked."""

    permissions: PermissionManager
    hooks: HookRunner
    run_hooks: RunHooks
    warnings: tuple[str, ...]
    """What in the rules and hooks does nothing, a line each."""


def join_guards(
    opened: Opened, settings: Settings, events: EventBus, *, is_trusted: bool
) -> GuardRoom:
    """Joins permissions and hooks; the hooks hear of the run's events from here on."""
    environment, paths = opened.environment, opened.paths
    grants = Grants(environment.user_folder, paths.root)
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
    return GuardRoom(
        permissions=permissions,
        hooks=hooks,
        run_hooks=run_hooks,
        warnings=tuple(settings_warnings(settings, grants.rules(), hook_files)),
    )


def lead_ground(
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


def read_hook_files(opened: Opened, *, is_trusted: bool) -> tuple[HookFile, ...]:
    """Returns the person's own hooks and, of a trusted folder, the repository's."""
    paths = [opened.environment.user_folder / USER_HOOKS]
    if is_trusted:
        paths.append(opened.paths.hook_settings)
    return tuple(read_hooks(path) for path in paths)

"""Looks at everything a run stands on, before one fails for want of it.

1. What is found is told, thing by thing: fine, to be looked at, or in the way, with what to do.
2. One thing in the way hides no other: each is looked at by itself.
3. Nothing is changed, no server is started, no model is asked. Of keys the names are told alone.
"""

import asyncio
import os
import platform
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

from msgspec.structs import replace

from modules import VERSION
from modules.app.findings import Finding, State, fault, looked_at, ok, warn
from modules.app.guard_wiring import USER_HOOKS, read_hook_files
from modules.app.jails import granted_folders, network_warnings
from modules.app.mcp_launch import servers_of
from modules.app.opening import (
    Opened,
    now,
    open_repository_at,
    refuse_tracked_state,
    settings_for,
)
from modules.app.preparing import make_preparation
from modules.app.settings_check import settings_warnings
from modules.git.lanes import list_lanes
from modules.git.refs import LANDED, is_ancestor, read_ref
from modules.git.run_git import Git
from modules.git.salvage import list_salvages
from modules.git.signing import try_signing
from modules.git.worktree_gaps import worktree_gaps
from modules.providers.choose import choose_model
from modules.providers.presets import PRESETS
from modules.records.errors import CrewyardError, PersonFault
from modules.records.settings import Environment, Settings
from modules.safety.grants import Grants
from modules.safety.jail import SandboxKind
from modules.safety.sandbox import kinds_of, probe
from modules.safety.trust import TrustStatus, read_what_would_be_trusted
from modules.store.config import USER_SETTINGS, read_environment
from modules.store.locks import read_lead_pid
from modules.team.board_rules import UNDER_WAY
from modules.team.queue_view import alarm_lines, read_entries, read_queue
from modules.team.task_board import TaskBoard

_LITTLE_BYTES, _TOO_LITTLE_BYTES = 2 * 1024**3, 200 * 1024**2
_NAMES_SHOWN = 5


def examine(folder: Path) -> list[Finding]:
    """Returns what was found for a run in `folder`."""
    environment = read_environment(os.environ)
    found = [
        ok("program", f"crewyard {VERSION}, Python {platform.python_version()}"),
        *looked_at("git", lambda: _git(folder, environment)),
        *_sandboxes(environment),
    ]
    try:
        opened = open_repository_at(folder)
    except CrewyardError as error:
        return [*found, fault("repository", error)]
    found += [ok("repository", f"{opened.paths.root}, target {opened.repository.target}")]
    found += looked_at("board", lambda: _board(opened))
    found += looked_at("lanes", lambda: _lanes(opened))
    found += looked_at("landed", lambda: _landed(opened))
    found += looked_at("target", lambda: _target(opened))
    found += looked_at("signing", lambda: _signing(opened))
    found += looked_at("kept work", lambda: _kept(opened))
    found += looked_at("lead", lambda: _lead(opened))
    found += looked_at("disk", lambda: _disk(opened.paths.root))
    try:
        settings, trust = settings_for(opened, {})
    except PersonFault as error:
        return [*found, fault("settings", error)]
    return [*found, *_with_settings(opened, settings, trust)]


def _with_settings(opened: Opened, settings: Settings, trust: TrustStatus) -> list[Finding]:
    is_trusted = trust is TrustStatus.TRUSTED
    return [
        *looked_at("settings", lambda: _settings_files(opened)),
        *looked_at("trust", lambda: _trust(opened, trust)),
        *looked_at("check", lambda: _check(settings)),
        *looked_at("keys", lambda: _keys(opened.environment, settings)),
        *looked_at("model", lambda: _models(opened.environment, settings)),
        *looked_at("rules", lambda: _rules(opened, settings, is_trusted=is_trusted)),
        *looked_at("MCP", lambda: _servers(opened, settings, is_trusted=is_trusted)),
        *looked_at("web", lambda: _web(settings)),
        *looked_at("network", lambda: _network(opened, settings)),
        *looked_at("worktrees", lambda: _worktrees(opened, settings)),
    ]


def _git(folder: Path, environment: Environment) -> Iterator[Finding]:
    # Its age is judged where the repository is opened.
    yield ok("git", Git(_existing(folder), environment.variables).text("version"))


def _existing(folder: Path) -> Path:
    return next(path for path in (folder, *folder.parents) if path.is_dir())


def _sandboxes(environment: Environment) -> Iterator[Finding]:
    variables = {k: v for k, v in environment.variables.items() if k != "CREWYARD_SANDBOX"}
    plain = replace(environment, variables=variables, is_sandbox_off=False)
    for kind in kinds_of(sys.platform):
        found = probe(plain, [kind])
        state = State.OK if found.is_jail else State.WARN
        yield Finding(topic=f"sandbox {kind}", state=state, text=found.why)
    used = probe(environment)
    if used.is_jail:
        yield ok("sandbox", used.why)
    elif used.kind is SandboxKind.OFF:
        hint = "Unset CREWYARD_SANDBOX, unless nothing here may be lost."
        yield warn("sandbox", used.why, hint)
    else:
        hint = "Install bubblewrap, or set CREWYARD_SANDBOX=off to do without."
        yield Finding(topic="sandbox", state=State.FAIL, text=used.why, hint=hint)


def _board(opened: Opened) -> Iterator[Finding]:
    refuse_tracked_state(opened)
    counts: dict[str, int] = {}
    for task in TaskBoard(opened.paths, clock=now).tasks():
        counts[str(task.status)] = counts.get(str(task.status), 0) + 1
    entries = len(read_entries(opened.paths))
    tasks = ", ".join(f"{count} {status}" for status, count in counts.items()) or "no tasks"
    yield ok("board", f"{tasks}; {entries} entries in the merge queue's journal")


def _lanes(opened: Opened) -> Iterator[Finding]:
    at_work = {
        task.lane for task in TaskBoard(opened.paths, clock=now).tasks() if task.status in UNDER_WAY
    }
    lanes = [lane.name for lane in list_lanes(opened.repository)]
    is_led = read_lead_pid(opened.paths.lead_lock) is not None
    left = [name for name in lanes if name not in at_work or not is_led]
    if left:
        text = f"{len(left)} of {len(lanes)} are left from a run that ended: {_some(left)}"
        yield warn("lanes", text, "The next run goes on with them or keeps what is in them.")
    else:
        yield ok("lanes", f"{len(lanes)} at work" if lanes else "none")
    listed = opened.repository.git.text("worktree", "list", "--porcelain").splitlines()
    gone = sum(line.startswith("prunable") for line in listed)
    if gone:
        yield warn(
            "lanes", f"git knows {gone} worktrees that are gone", "Run `git worktree prune`."
        )


def _landed(opened: Opened) -> Iterator[Finding]:
    repository = opened.repository
    landed = read_ref(repository.git, LANDED + repository.target)
    target = read_ref(repository.git, repository.target_ref)
    if not landed:
        yield ok("landed", "nothing yet")
    elif is_ancestor(repository.git, landed, target):
        yield ok("landed", f"{repository.target} holds all that has landed")
    else:
        text = f"{repository.target} does not hold all that has landed ({landed[:12]})"
        hint = f"Commit or put away your edits, then `git merge {LANDED}{repository.target}`."
        yield warn("landed", text, hint)


def _target(opened: Opened) -> Iterator[Finding]:
    for why in alarm_lines(read_queue(opened.paths)):
        hint = "Post a task that mends it: it lands, while the entries of others keep their places."
        yield warn("target", why, hint)


def _signing(opened: Opened) -> Iterator[Finding]:
    repository = opened.repository
    if repository.signing is not None:
        try_signing(repository.git, repository.signing, temporary=opened.paths.temporary)
        yield ok("signing", "commits are signed (commit.gpgSign), and so are landings")


def _kept(opened: Opened) -> Iterator[Finding]:
    count = len(list_salvages(opened.repository))
    yield ok("kept work", f"{count} salvages in refs/crewyard/salvage" if count else "none")


def _lead(opened: Opened) -> Iterator[Finding]:
    pid = read_lead_pid(opened.paths.lead_lock)
    if pid is None:
        yield ok("lead", "none runs here")
    else:
        yield ok("lead", f"one runs here (pid {pid or 'not told yet'}); another can't be started")


def _disk(root: Path) -> Iterator[Finding]:
    free = shutil.disk_usage(root).free
    text = f"{free / 1024**3:.1f} GiB free"
    hint = "Make room: each worker has a checkout of its own."
    if free < _TOO_LITTLE_BYTES:
        yield Finding(topic="disk", state=State.FAIL, text=text, hint=hint)
    elif free < _LITTLE_BYTES:
        yield warn("disk", text, hint)
    else:
        yield ok("disk", text)


def _settings_files(opened: Opened) -> Iterator[Finding]:
    user_folder = opened.environment.user_folder
    files = [user_folder / name for name in (USER_SETTINGS, USER_HOOKS)]
    there = [str(path) for path in files if path.exists()]
    yield ok("settings", f"your own: {', '.join(there) or f'none in {user_folder}'}")


def _trust(opened: Opened, trust: TrustStatus) -> Iterator[Finding]:
    files = ", ".join(read_what_would_be_trusted(opened.paths.root).files)
    if not files:
        yield ok("trust", "the repository brings no settings")
    elif trust in (TrustStatus.TRUSTED, TrustStatus.DENIED):
        yield ok("trust", f"{files}: {trust}")
    else:
        text = f"{files}: {trust}, so only what they deny holds"
        yield warn("trust", text, "Look at them, then run `crewyard trust add` or `trust deny`.")


def _check(settings: Settings) -> Iterator[Finding]:
    if settings.check:
        yield ok("check", settings.check)
    else:
        hint = 'Set check = "…" in settings.toml or team.toml, or give --check.'
        yield warn("check", "none is set, so nothing lands", hint)


def _keys(environment: Environment, settings: Settings) -> Iterator[Finding]:
    names = {preset.key_variable for preset in PRESETS.values()}
    names |= {model.api_key_env for model in settings.models.values()}
    there = sorted(name for name in names if name and environment.variables.get(name, "").strip())
    if there:
        yield ok("keys", f"set: {', '.join(there)}")
    else:
        hint = f"Set one of {', '.join(sorted(names - {''}))}."
        yield warn("keys", "none is set; only models that need none can be used", hint)


def _models(environment: Environment, settings: Settings) -> Iterator[Finding]:
    for topic, spec in (
        ("model", settings.model),
        ("worker model", settings.worker_model or settings.model),
    ):
        try:
            chosen = choose_model(spec, settings, environment, clock=now, sleep=asyncio.sleep)
        except PersonFault as error:
            yield warn(topic, str(error), error.hint)
        else:
            yield ok(topic, chosen.spec)


def _rules(opened: Opened, settings: Settings, *, is_trusted: bool) -> Iterator[Finding]:
    granted = Grants(opened.environment.user_folder, opened.paths.root).rules()
    files = read_hook_files(opened, is_trusted=is_trusted)
    warnings = settings_warnings(settings, granted, files)
    rules = settings.rules + granted
    count = len(rules.allow) + len(rules.ask) + len(rules.deny)
    hooks = sum(len(file.hooks) for file in files)
    yield ok("rules", f"{count} rules, {hooks} hooks")
    for warning in warnings:
        yield warn("rules", warning, "Correct it, or take it out.")


def _servers(opened: Opened, settings: Settings, *, is_trusted: bool) -> Iterator[Finding]:
    if not is_trusted:
        yield ok("MCP", "servers of a folder nobody trusts are not looked at")
        return
    servers = servers_of(opened, is_trusted=True)
    where = "inside the sandbox" if settings.is_mcp_sandboxed else "outside of the sandbox"
    names = [server.name for server in servers if not server.is_disabled]
    yield ok("MCP", f"{_some(names)}, started {where}" if names else "no server is configured")
    for server in servers:
        if server.fault and not server.is_disabled:
            yield warn("MCP", f"{server.name} can't be used", server.fault)


def _web(settings: Settings) -> Iterator[Finding]:
    opened = ", ".join(settings.web_allow)
    yield ok("web", f"public addresses, and {opened}" if opened else "public addresses alone")


def _network(opened: Opened, settings: Settings) -> Iterator[Finding]:
    hosts = _some(list(settings.open_hosts)) if settings.open_hosts else "no host"
    said = {"off": "nothing", "proxy": hosts, "shared": "everything"}
    workers, servers = said[settings.worker_network], said[settings.mcp_network]
    yield ok("network", f"workers' commands reach {workers}, sandboxed MCP servers {servers}")
    _, missing = granted_folders(settings, opened.paths.root, opened.environment)
    for line in (*network_warnings(settings, probe(opened.environment)), *missing):
        yield warn("network", line, "Correct it in your own settings, or take it out.")


def _worktrees(opened: Opened, settings: Settings) -> Iterator[Finding]:
    lane, preparation = settings.lane, make_preparation(opened, settings, probe(opened.environment))
    copied = len(preparation.copy_plan().paths)
    done = f"set up by {lane.setup!r}" if lane.setup else "not set up"
    yield ok("worktrees", f"{done}; {copied} files copied, {len(lane.link)} folders linked")
    gaps = worktree_gaps(opened.repository, opened.repository.target_ref)
    for line in (*preparation.problems(), *gaps):
        yield warn("worktrees", line, "README tells what [lane] in team.toml does.")


def _some(names: list[str]) -> str:
    more = len(names) - _NAMES_SHOWN
    return ", ".join(names[:_NAMES_SHOWN]) + (f" and {more} more" if more > 0 else "")

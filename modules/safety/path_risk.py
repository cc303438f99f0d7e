"""What a path a file tool was given would touch; pure but for looking at links and kinds.

1. A spelling that hides where it leads is refused; a line break in a name is asked about.
2. A path counts as given and as its links resolve; the worse of the two decides.
3. Secrets are neither read nor written, by anyone; a worker doesn't read the lead's journals.
4. Writing ends at the folder the agent works in and its own temporary folder.
5. `.git`, `.team`, `.worktrees` are never written; files that steer programs or agents are asked
   about every time.
6. Deleting is dangerous; a file with a second name, and whatever is no plain file, is refused.
"""

import os
import re
import stat
import unicodedata
from pathlib import Path

from modules.records.decisions import Assessment, PathOp, Risk
from modules.records.record import Record
from modules.safety.ground import Ground
from modules.safety.path_names import (
    folded,
    is_secret_below_home,
    is_secret_name,
    is_system_secret,
    steering_name,
)
from modules.safety.protected_names import is_protected_name
from modules.store.paths import Paths

_LONGEST_NAME_BYTES = 255
_LONGEST_PATH_BYTES = 4095
_DRIVE = re.compile(r"[A-Za-z]:(?:[\\/]|$)")
_HOMES = re.compile(r"/(?:root|home/[^/]+|Users/[^/]+)(?=/|$)")
_SINKS = frozenset({"/dev/null"})


class Spot(Record):
    """Where a path leads."""

    given: str
    """Absolute, `.` and `..` taken out of the spelling."""
    resolved: str
    """Absolute, every link followed; for deleting, every link but the last."""


def assess_path(path: str, op: PathOp, ground: Ground) -> Assessment:
    """Returns how risky it is that a file tool does `op` to `path`."""
    spelling = _spelling(path)
    if spelling is not None:
        return spelling
    spot = locate(path, ground, follows_last=op != "delete")
    if op == "read":
        return _first(_secret(spot, ground), _device(spot), _unusual(spot)) or _SAFE
    if op != "delete" and spot.given in _SINKS:
        return _SAFE
    found = assess_write(spot, ground) if op != "delete" else assess_delete(spot, ground)
    if found.risk is Risk.DENY or op == "delete":
        return found
    return _first(_unusual(spot), _second_name(spot)) or found


def assess_folder(path: str, ground: Ground) -> Assessment:
    """Returns how risky it is that a tool lists or searches the folder or file at `path`."""
    spelling = _spelling(path)
    if spelling is not None:
        return spelling
    spot = locate(path, ground)
    return _first(_secret(spot, ground), _device(spot)) or _SAFE


def locate(
    path: str, ground: Ground, *, folder: str | None = None, follows_last: bool = True
) -> Spot:
    """Returns where `path` leads, seen from `folder` or the ground's root."""
    if path == "~" or path.startswith("~/"):
        path = f"{ground.home}{path[1:]}"
    absolute = os.path.join(folder or str(ground.root), path)  # noqa: PTH118 (keeps a trailing ..)
    given = f"/{os.path.normpath(absolute).lstrip('/')}"
    if follows_last:
        resolved = followed(absolute)
    else:
        parent, name = os.path.split(given)
        resolved = os.path.normpath(f"{followed(parent)}/{name}")
    return Spot(given=given, resolved=resolved)


def followed(path: str) -> str:
    """Returns where `path` leads; through a link that may not be read, to where nobody may go."""
    try:
        return os.path.realpath(path)
    except OSError:
        return _NOBODYS


def secret_reason(spot: Spot, ground: Ground) -> str:
    """Returns why nobody may read what lies there; empty where reading is fine."""
    for path in {spot.given, spot.resolved}:
        why = _secret_path(path, ground)
        if why:
            return why
    return ""


def assess_write(spot: Spot, ground: Ground) -> Assessment:
    """Returns how risky it is to change what lies there, its kind apart."""
    return (
        _first(_secret(spot, ground), _outside(spot, ground), _protected(spot, ground))
        or _steering(spot, ground)
        or Assessment(risk=Risk.WRITE, categories=("file:write",), why="writes in your folder")
    )


def assess_delete(spot: Spot, ground: Ground) -> Assessment:
    """Returns how risky it is to delete what lies there."""
    found = assess_write(spot, ground)
    if found.risk is not Risk.WRITE:
        return found
    if is_root(spot, ground):
        return _deny("file:outside", "that is the folder you work in; name a file inside it")
    return Assessment(risk=Risk.DANGEROUS, categories=("file:delete",), why="deletes a file")


def is_root(spot: Spot, ground: Ground) -> bool:
    """True for the folder the agent works in itself."""
    return spot.resolved == os.path.realpath(ground.root) or spot.given == str(ground.root)


def is_within(path: str, folder: str) -> bool:
    """True when `path` is `folder` or lies below it; both absolute and normal."""
    return path == folder or path.startswith(folder.rstrip("/") + "/")


_SAFE = Assessment(risk=Risk.SAFE)
_NOBODYS = "/proc/1/root"
_SHOWN = 200
"""Characters of an ill-spelt path that a person or a model is shown."""


def _deny(category: str, why: str) -> Assessment:
    return Assessment(risk=Risk.DENY, categories=(category,), why=why)


def _first(*found: Assessment | None) -> Assessment | None:
    return next((assessment for assessment in found if assessment is not None), None)


def _spelling(path: str) -> Assessment | None:
    why = _hidden_meaning(path)
    if why:
        return _deny("file:spelling", f"{path[:_SHOWN]!r} {why}; give a plain path")
    if any(unicodedata.category(c) == "Cc" for c in path):
        return Assessment(
            risk=Risk.DANGEROUS,
            categories=("file:spelling",),
            must_ask=True,
            why=f"{path[:_SHOWN]!r} has control characters in its name",
        )
    return None


def _hidden_meaning(path: str) -> str:
    if not path.strip() or "\0" in path:
        return "is no path"
    if any(unicodedata.category(c) in ("Cf", "Cs", "Zl", "Zp") for c in path):
        return "has invisible characters"
    if path[0] == "~" and path[:2] not in ("~", "~/"):
        return "is another user's home"
    if path[0] == "$" or "://" in path or path.lower().startswith("file:"):
        return "is not taken literally by every tool"
    if _DRIVE.match(path) or "\\" in path:
        return "is a Windows path"
    names = path.encode("utf-8", "surrogateescape").split(b"/")
    if len(path) > _LONGEST_PATH_BYTES or max(map(len, names)) > _LONGEST_NAME_BYTES:
        return "is too long"
    return ""


def _secret(spot: Spot, ground: Ground) -> Assessment | None:
    why = secret_reason(spot, ground)
    return _deny("file:secret", why) if why else None


def _secret_path(path: str, ground: Ground) -> str:
    names = [folded(name) for name in path.split("/") if name]
    if any(is_secret_name(name) for name in names[-2:]):
        return f"{path!r} is a file of secrets; work with a template such as `.env.example`"
    if is_within(path, str(ground.user_folder)) and not is_within(path, str(ground.root)):
        return f"{path!r} belongs to this program; no agent reads or writes it"
    home = _home_of(path, ground)
    if home and is_secret_below_home([folded(n) for n in path[len(home) :].split("/") if n]):
        return f"{path!r} holds a person's credentials; ask the person for what you need"
    if is_system_secret(names):
        return f"{path!r} may show secrets of the system or of other processes"
    if ground.is_worker and _is_lead_journal(path, ground):
        return f"{path!r} is the lead's journal; use the board and mail tools instead"
    return ""


def _home_of(path: str, ground: Ground) -> str:
    home = str(ground.home)
    if is_within(path, home):
        return home
    match = _HOMES.match(path)
    return match.group() if match else ""


def _is_lead_journal(path: str, ground: Ground) -> bool:
    if not is_within(path, str(ground.main_checkout)):
        return False
    paths = Paths(ground.main_checkout)
    shared = (paths.outputs, paths.results, paths.checks, paths.temporary)
    return is_within(path, str(paths.team)) and not any(is_within(path, str(s)) for s in shared)


def _device(spot: Spot) -> Assessment | None:
    if is_within(spot.resolved, "/dev") or is_within(spot.given, "/dev"):
        return _deny("file:kind", f"{spot.given!r} is a device, not a file")
    return None


def _outside(spot: Spot, ground: Ground) -> Assessment | None:
    if _is_writable(spot, ground):
        return None
    main = str(ground.main_checkout)
    lanes = str(Paths(ground.main_checkout).lanes)
    if is_within(spot.resolved, lanes):
        why = f"{spot.given!r} lies in another worker's lane; send that worker a message"
    elif is_within(spot.resolved, main):
        inside = spot.resolved[len(main) + 1 :]
        why = f"{spot.given!r} lies in the main checkout; change {inside!r} in your own lane"
    else:
        why = f"{spot.given!r} lies outside {str(ground.root)!r}, the folder you may write"
    return _deny("file:outside", why)


def _is_writable(spot: Spot, ground: Ground) -> bool:
    for folder in (ground.root, ground.tmp):
        if folder is None:
            continue
        real = os.path.realpath(folder)
        if is_within(spot.resolved, real) and (
            is_within(spot.given, str(folder)) or is_within(spot.given, real)
        ):
            return True
    return False


def _protected(spot: Spot, ground: Ground) -> Assessment | None:
    for names in _names_below_root(spot, ground):
        if any(is_protected_name(name) for name in names) or names[:1] == (".tasks",):
            return _deny(
                "file:protected",
                f"{spot.given!r} belongs to git or to the crew; use git commands or the crew's"
                " tools",
            )
    return None


def _steering(spot: Spot, ground: Ground) -> Assessment | None:
    for names in _names_below_root(spot, ground):
        steering = steering_name([folded(name) for name in names])
        if steering:
            return Assessment(
                risk=Risk.CRITICAL,
                categories=("file:protected",),
                must_ask=True,
                why=f"{steering!r} decides what programs or agents do; a person must agree",
            )
    return None


def _names_below_root(spot: Spot, ground: Ground) -> list[tuple[str, ...]]:
    """Returns the path's components from the writable folder down, as given and as resolved."""
    found = []
    for path in (spot.given, spot.resolved):
        for folder in (ground.root, ground.tmp):
            if folder is None:
                continue
            roots = (str(folder), os.path.realpath(folder))
            root = next((root for root in roots if is_within(path, root)), None)
            if root is not None:
                found.append(Path(path[len(root.rstrip("/")) :].lstrip("/")).parts)
                break
    return found


def _unusual(spot: Spot) -> Assessment | None:
    try:
        mode = os.stat(spot.resolved).st_mode  # noqa: PTH116 (spots are strings)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        return _deny("file:kind", f"{spot.given!r} can't be looked at: {error.strerror}")
    if stat.S_ISREG(mode):
        return None
    kind = "a folder" if stat.S_ISDIR(mode) else "a device, pipe or socket"
    return _deny("file:kind", f"{spot.given!r} is {kind}, not a file")


def _second_name(spot: Spot) -> Assessment | None:
    try:
        links = os.lstat(spot.resolved).st_nlink
    except OSError:
        return None
    if links <= 1:
        return None
    return _deny(
        "file:hardlink",
        f"{spot.given!r} has a second name elsewhere that would change with it; copy it, delete"
        " it and write the copy",
    )

"""Which removals are catastrophes: the system, a home, the whole checkout; pure but for links."""

import os

from modules.safety.ground import Ground
from modules.safety.path_names import folded
from modules.safety.path_risk import followed, is_within
from modules.safety.shell_words import UNKNOWN

_SYSTEM_FOLDERS = frozenset(
    {
        *("bin", "boot", "dev", "etc", "home", "lib", "lib32", "lib64", "media", "mnt", "opt"),
        *("proc", "root", "run", "sbin", "srv", "sys", "tmp", "usr", "var"),
        *("Applications", "Library", "System", "Users", "Volumes", "private"),
    }
)
_EVERYTHING = frozenset({"*", ".*", "{*,.*}", ".[!.]*", ".??*", "..?*", "?*", "**"})


def wipe_reason(text: str, folder: str, ground: Ground) -> str:
    """Returns why removing `text`, seen from `folder`, is a catastrophe; empty where it isn't.

    UNKNOWN is taken for nothing: a variable may be empty.
    """
    shown = text.replace(UNKNOWN, "")
    if not shown or (folder == UNKNOWN and not shown.startswith("/")):
        return ""
    start, slash, last = shown.rstrip("/").rpartition("/")
    if last in _EVERYTHING:
        shown = (start or "/") if slash else "."
    path = os.path.normpath(shown if shown.startswith("/") else f"{folder}/{shown}")
    for place in {path, followed(path)}:
        why = _catastrophe(place, ground)
        if why:
            return why
    return ""


def is_system_path(path: str, ground: Ground) -> bool:
    """True for an absolute path the operating system lives by, and no checkout of ours."""
    if any(is_within(path, str(own)) for own in (ground.root, ground.main_checkout)):
        return False
    top = path.split("/")[1] if path.count("/") >= 1 else ""
    return path == "/" or (top in _SYSTEM_FOLDERS and top not in ("home", "tmp", "Users"))


def _catastrophe(path: str, ground: Ground) -> str:
    root, home = str(ground.root), str(ground.home)
    parts = path.strip("/").split("/")
    if path == "/" or (len(parts) == 1 and parts[0] in _SYSTEM_FOLDERS):
        return f"{path!r} is a part of the system itself"
    if is_within(home, path) or (len(parts) == 2 and parts[0] in ("home", "Users")):
        return f"{path!r} is a person's whole home"
    if is_within(root, path) or is_within(os.path.realpath(root), path):
        return f"{path!r} is the whole checkout, or a folder around it"
    if is_within(str(ground.main_checkout), path):
        return f"{path!r} is the main checkout, or a folder around it"
    if folded(parts[-1]) == ".git":
        return f"{path!r} is a repository's whole history"
    return ""

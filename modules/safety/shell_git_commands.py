"""Judges git commands that only some of their options or operands make risky; pure."""

from collections.abc import Callable, Mapping, Sequence

from modules.safety.path_risk import is_within
from modules.safety.shell_case import Case
from modules.safety.shell_options import Options
from modules.safety.shell_words import UNKNOWN, Word
from modules.store.paths import Paths

HISTORY = "bash:git-history"
NETWORK = "bash:net"
_FILTERS = ("-l", "--list", "--contains", "--no-contains", "--merged", "--no-merged", "--points-at")
_QUIET = frozenset({"-q", "--quiet", "--mixed", "-N", "--intent-to-add"})
_HELP_LISTS = frozenset({"-a", "--all", "-g", "--guides", "-c", "--config"})
_ALL = frozenset({".", ":/", ":/.", "*", ":", "./"})


def folders_of(case: Case, target: Word) -> tuple[str, ...]:
    """Returns the folders that `target` may name; UNKNOWN for one that isn't known."""
    if UNKNOWN in target.text:
        return (UNKNOWN,)
    return tuple(
        case.spot(target.text, folder).given if folder != UNKNOWN else UNKNOWN
        for folder in case.call.folders
    )


def _add(case: Case, options: Options) -> None:
    case.changes("adds files to the index")


def _commit(case: Case, options: Options) -> None:
    case.changes("commits")


def _switch(case: Case, options: Options) -> None:
    if options.has("-f", "--force", "--discard-changes", "-C", "--force-create"):
        case.runs("throws away work that isn't committed", HISTORY)
    else:
        case.changes("switches branches")


def _checkout(case: Case, options: Options) -> None:
    is_all = any(word.text in _ALL for word in options.operands)
    if is_all or options.has("-f", "--force", "-B"):
        case.runs("throws away work that isn't committed", HISTORY)
    else:
        case.changes("changes files or branches")
        _write_tracked(case, options.operands)


def _restore(case: Case, options: Options) -> None:
    is_all = any(word.text in _ALL for word in options.operands)
    is_index = options.surely_has("--staged", "-S") and not options.has("--worktree", "-W")
    if is_all and not is_index:
        case.runs("throws away work that isn't committed", HISTORY)
    else:
        case.changes("restores files")
        if not is_index:
            _write_tracked(case, options.operands)


def _write_tracked(case: Case, words: Sequence[Word]) -> None:
    """Judges files brought back from a commit; git itself refuses what it doesn't track."""
    case.writes_each(word for word in words if UNKNOWN not in word.text)


def _stash(case: Case, options: Options) -> None:
    action = options.operands[0].text if options.operands else ""
    if action in ("drop", "clear"):
        case.runs("drops work that was put aside", HISTORY)
    elif action not in ("list", "show"):
        case.changes("puts work aside or takes it back")


def _branch(case: Case, options: Options) -> None:
    if options.has("-d", "-D", "-m", "-M", "-c", "-C", "-f") or options.has(
        "--delete", "--move", "--copy", "--force", "--edit-description"
    ):
        case.runs("deletes, moves or renames a branch", HISTORY)
    elif options.has("-u", "--set-upstream-to", "--unset-upstream"):
        case.runs("changes git's settings of a branch", HISTORY)
    elif options.operands and not options.surely_has(*_FILTERS, "--show-current"):
        case.changes("makes a branch")


def _tag(case: Case, options: Options) -> None:
    if options.has("-d", "-f", "--delete", "--force"):
        case.runs("deletes or moves a tag", HISTORY)
    elif options.has("-s", "-u", "-v", "--sign", "--verify"):
        case.runs("signs with a program that settings name")
    elif options.operands and not options.surely_has(*_FILTERS, "-n"):
        case.changes("makes a tag")


def _remote(case: Case, options: Options) -> None:
    action = options.operands[0].text if options.operands else ""
    if action in ("", "get-url"):
        return
    if action in ("show", "update", "prune"):
        case.runs("talks to another repository", NETWORK)
    else:
        case.denies("bash:protected", "git's remotes are the person's to change")


def _config(case: Case, options: Options) -> None:
    operands = [word.text for word in options.operands]
    is_read = options.surely_has("-l", "--list", "--get", "--get-all", "--get-regexp")
    is_read |= options.surely_has("--get-urlmatch")
    is_read |= operands[:1] in (["get"], ["list"])
    changes = options.has("--unset", "--unset-all", "--replace-all", "--add", "-e", "--edit")
    changes |= options.has("--remove-section", "--rename-section")
    if changes or not (is_read or len(operands) == 1) or operands[:1] in (["edit"], ["unset"]):
        case.denies("bash:protected", "git's settings are the person's to change; read them only")


def _reflog(case: Case, options: Options) -> None:
    if options.operands and options.operands[0].text in ("expire", "delete"):
        case.runs("drops git's record of where branches were", HISTORY)


def _notes(case: Case, options: Options) -> None:
    if not options.operands or options.operands[0].text in ("list", "show"):
        return
    case.changes("changes notes on commits")


def _symbolic_ref(case: Case, options: Options) -> None:
    if options.has("-d", "--delete") or len(options.operands) != 1:
        case.runs("moves a branch", HISTORY)


def _submodule(case: Case, options: Options) -> None:
    action = options.operands[0].text if options.operands else "status"
    if action == "foreach":
        case.hides("runs a command in every submodule")
        case.findings.nested.append(" ".join(word.text for word in options.operands[1:]))
    elif action not in ("status", "summary"):
        case.runs("talks to another repository", NETWORK)


def _worktree(case: Case, options: Options) -> None:
    action = options.operands[0].text if options.operands else ""
    if action == "list":
        return
    case.runs("changes lanes, which the crew's own tools do")
    if action in ("remove", "move", "repair"):
        lanes = str(Paths(case.ground.main_checkout).lanes)
        for word in options.operands[1:]:
            for place in folders_of(case, word):
                is_outside = not is_within(place, str(case.ground.root))
                if place != UNKNOWN and (is_outside or is_within(place, lanes)):
                    case.denies("bash:outside", f"{place!r} is a lane; close it with a tool")


def _clean(case: Case, options: Options) -> None:
    if not options.surely_has("-n", "--dry-run"):
        case.runs("deletes files git doesn't know", "bash:rm")


def _reset(case: Case, options: Options) -> None:
    texts = [word.text for word in case.args]
    texts = texts[texts.index("reset") + 1 :]
    before = texts[: texts.index("--")] if "--" in texts else texts
    if all(text in _QUIET for text in before) or (
        next((text for text in before if text not in _QUIET), "") == "HEAD"
        and not any(text.startswith("-") and text not in _QUIET for text in before)
    ):
        case.changes("takes files out of the index")
    else:
        case.runs("rewrites or drops commits, or work not committed", HISTORY)


def _remove(case: Case, options: Options) -> None:
    if options.surely_has("-n", "--dry-run"):
        return
    if options.surely_has("--cached"):
        case.changes("takes files out of the index")
        return
    case.runs("deletes files", "bash:rm")
    for word in options.operands:
        if word.text not in _ALL:
            case.deletes(word)


def _move(case: Case, options: Options) -> None:
    case.changes("moves files")
    case.writes_each(options.operands)


def _apply(case: Case, options: Options) -> None:
    if not options.surely_has("--check", "--stat", "--numstat", "--summary"):
        case.changes("changes files as a patch says")


def _fsck(case: Case, options: Options) -> None:
    if options.has("--lost-found"):
        case.runs("writes what no branch leads to below `.git`", HISTORY)


def _rerere(case: Case, options: Options) -> None:
    if [word.text for word in options.operands] not in (["status"], ["diff"], ["remaining"]):
        case.runs("changes how git settles conflicts", HISTORY)


def _sparse_checkout(case: Case, options: Options) -> None:
    if [word.text for word in options.operands] != ["list"]:
        case.runs("changes which files the lane has", HISTORY)


def _help(case: Case, options: Options) -> None:
    if options.operands or not all(flag in _HELP_LISTS for flag, _ in options.flags):
        case.runs("shows a page with a program that settings name")


def _archive(case: Case, options: Options) -> None:
    if options.has("--remote"):
        case.runs("talks to another repository", NETWORK)


def _bundle(case: Case, options: Options) -> None:
    if options.operands and options.operands[0].text == "create":
        case.writes_each(options.operands[1:2])


def _format_patch(case: Case, options: Options) -> None:
    if not options.surely_has("--stdout"):
        case.changes("writes patches")


def _hash_object(case: Case, options: Options) -> None:
    if options.has("-w"):
        case.changes("writes an object")


def _bisect(case: Case, options: Options) -> None:
    action = options.operands[0].text if options.operands else ""
    if action == "run":
        case.hides("runs a command on many commits")
        texts = [word.text for word in case.args]
        case.starts(case.args[texts.index("run") + 1 :])
    elif action not in ("log", "terms"):
        case.runs("moves through history", HISTORY)


def _init(case: Case, options: Options) -> None:
    case.runs("makes a repository, which can have settings of its own")
    case.reads_each(options.operands)
    case.writes_each(word for word in options.operands if word.text not in (".", "./"))
    case.writes_each(options.values("--separate-git-dir"))


def _clone(case: Case, options: Options) -> None:
    case.runs("talks to another repository", NETWORK)
    case.writes_each(options.operands[1:2])


SPECIAL: Mapping[str, Callable[[Case, Options], None]] = {
    "add": _add,
    "apply": _apply,
    "archive": _archive,
    "bisect": _bisect,
    "branch": _branch,
    "bundle": _bundle,
    "checkout": _checkout,
    "clean": _clean,
    "clone": _clone,
    "commit": _commit,
    "config": _config,
    "format-patch": _format_patch,
    "fsck": _fsck,
    "hash-object": _hash_object,
    "help": _help,
    "init": _init,
    "mv": _move,
    "notes": _notes,
    "reflog": _reflog,
    "remote": _remote,
    "rerere": _rerere,
    "reset": _reset,
    "restore": _restore,
    "rm": _remove,
    "sparse-checkout": _sparse_checkout,
    "stash": _stash,
    "submodule": _submodule,
    "switch": _switch,
    "symbolic-ref": _symbolic_ref,
    "tag": _tag,
    "worktree": _worktree,
}

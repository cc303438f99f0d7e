"""Judges `git`; pure.

1. Reading is safe in the folder the agent works in: nobody but the program writes git's settings.
   Elsewhere a folder's own settings may run programs.
2. Settings and remotes are only read; nobody writes them from a command line.
3. Adding, committing, switching, making branches and tags only write.
4. What rewrites or drops commits, or throws uncommitted work away, is dangerous; so is whatever
   uses the network, signs, runs hooks or helpers by option, or is no command of git's own.
5. Long options may be abbreviated, so a beginning counts as the option.
"""

import re
from collections.abc import Callable, Mapping

from modules.safety.path_names import folded, is_secret_name
from modules.safety.path_risk import is_within
from modules.safety.shell_case import Case, Options, read_options
from modules.safety.shell_tables import names
from modules.safety.shell_words import UNKNOWN, Word
from modules.store.paths import Paths

HISTORY = "bash:git-history"
NETWORK = "bash:net"

_READS = names(
    "status log diff show blame annotate shortlog describe rev-parse rev-list ls-files ls-tree"
    " cat-file show-ref for-each-ref merge-base name-rev diff-tree diff-index diff-files cherry"
    " grep var count-objects check-ignore check-attr check-mailmap check-ref-format whatchanged"
    " range-diff show-branch fsck version column stripspace patch-id merge-tree get-tar-commit-id"
    " verify-pack"
)
_WRITES = names("add commit switch checkout restore mv stash apply notes update-index write-tree")
_HISTORY = names(
    "reset rebase merge cherry-pick revert am filter-branch filter-repo update-ref gc prune repack"
    " replace read-tree checkout-index fast-import maintenance rerere bisect reflog commit-tree"
    " pack-refs unpack-objects prune-packed sparse-checkout"
)
_NETWORK = names(
    "push fetch pull clone ls-remote send-pack fetch-pack request-pull lfs svn p4 cvsimport daemon"
    " instaweb http-fetch http-push imap-send send-email remote-http remote-https"
)
_FREE_GLOBALS = names(
    "--no-pager -P --no-optional-locks --literal-pathspecs --glob-pathspecs --noglob-pathspecs"
    " --icase-pathspecs --no-replace-objects --no-lazy-fetch --version -v --html-path --man-path"
    " --info-path"
)
_FREE_SETTING = re.compile(
    r"(?i)(?:color\.[\w.]+=[\w ]+|core\.quotepath=\w+|user\.(?:name|email)=[^`$]*"
    r"|core\.(?:pager|editor)=(?:cat|true|)|advice\.\w+=\w+|commit\.gpgsign=false"
    r"|tag\.gpgsign=false|init\.defaultbranch=[\w./-]+|log\.\w+=[\w-]+|diff\.(?:renames|algorithm"
    r"|noprefix|mnemonicprefix)=\w+|merge\.conflictstyle=\w+|pull\.(?:rebase|ff)=\w+)"
)
_LONG_VALUES = names(
    "--message --file --author --date --grep --since --until --after --before --format --max-count"
    " --skip --glob --exclude --diff-filter --reuse-message --reedit-message --fixup --squash"
    " --cleanup --trailer --strategy --strategy-option --onto --orphan --sort --points-at"
    " --contains --no-contains --merged --no-merged --output --prefix --ignore-revs-file --contents"
    " --pathspec-from-file --template --output-directory --directory --exclude-from --type --blob"
    " --set-upstream-to --default --max-depth --threads"
)
_SHORT_VALUES = {
    "commit": names("-m -F -C -c -t"),
    "tag": names("-m -F -u"),
    "merge": names("-m -F -X -s"),
    "rebase": names("-X -s -x"),
    "checkout": names("-b -B"),
    "switch": names("-c -C"),
    "branch": names("-u"),
    "restore": names("-s"),
    "grep": names("-e -f -A -B -C -m"),
    "stash": names("-m"),
    "notes": names("-m -F -C -c"),
    "archive": names("-o"),
    "format-patch": names("-o -v"),
    "config": names("-f"),
    "clean": names("-e"),
    "difftool": names("-x -t"),
    "status": frozenset(),
}
_DEFAULT_VALUES = names("-n -S -G -L -U -l")
_RUNS = (
    *("--ext-diff", "--textconv", "--filters", "--open-files-in-pager", "--upload-pack"),
    *("--receive-pack", "--exec", "--show-signature", "--gpg-sign", "--local-user", "--extcmd"),
    *("--unsafe-paths", "--pager"),
)
_WHOLE_OPTIONS = names("--text --filter --page --sign --exc")
"""Options of git's own that are beginnings of dangerous ones."""
_READ_VALUES = names(
    "-F --file --contents --pathspec-from-file --template --ignore-revs-file --exclude-from"
)
_HARMLESS_LOOKS = names("check-ignore check-attr ls-files status")
_FILTERS = names(
    "-l --list --contains --no-contains --merged --no-merged --points-at --format --sort --column"
)
_LISTING = _FILTERS | names("-a -r -v --all --remotes --show-current --verbose")
_ALL = frozenset({".", ":/", ":/.", "*", ":", "./"})


def judge_git(case: Case) -> None:
    """Judges one git command."""
    args = list(case.args)
    is_elsewhere = _is_elsewhere(case, case.call.folders)
    while args and args[0].text.startswith("-"):
        is_elsewhere |= _global_option(case, args)
    if not args:
        return
    name = args.pop(0)
    if not name.is_known:
        case.runs("has a git command that isn't known before it runs")
        return
    values = _LONG_VALUES | _SHORT_VALUES.get(name.text, _DEFAULT_VALUES)
    options = read_options(args, values)
    _judge_options(case, name.text, options)
    _judge_paths(case, name.text, options)
    special = _SPECIAL.get(name.text)
    before = len(case.findings.found)
    if special is not None:
        special(case, options)
    else:
        _by_table(case, name.text)
    if is_elsewhere:
        _judge_elsewhere(case, name.text, changes=len(case.findings.found) > before)


def _global_option(case: Case, args: list[Word]) -> bool:
    """Takes one option before the command off `args`; True when it leads to another folder."""
    word = args.pop(0)
    text = word.text
    if text == "-C" and args:
        target = args.pop(0)
        return _is_elsewhere(case, _folders(case, target))
    if text == "-c" and args:
        setting = args.pop(0)
        if not (setting.is_known and _FREE_SETTING.fullmatch(setting.text)):
            case.hides(f"sets {setting.raw!r} for git, which may run programs")
        return False
    if text == "--exec-path" or text in _FREE_GLOBALS:
        return False
    case.hides(f"gives git the option {text!r}, which may run programs")
    return False


def _folders(case: Case, target: Word) -> tuple[str, ...]:
    if UNKNOWN in target.text:
        return (UNKNOWN,)
    return tuple(
        case.spot(target.text, folder).given if folder != UNKNOWN else UNKNOWN
        for folder in case.call.folders
    )


def _is_elsewhere(case: Case, folders: tuple[str, ...]) -> bool:
    return any(folder != str(case.ground.root) for folder in folders)


def _judge_elsewhere(case: Case, name: str, *, changes: bool) -> None:
    case.runs("runs git in a folder whose own settings may run programs")
    main, root = str(case.ground.main_checkout), str(case.ground.root)
    places = [*case.call.folders]
    for word in case.args[:8]:
        places.extend(folder for folder in _folders(case, word) if word.text[:1] in ("/", "."))
    for place in places:
        if changes and place != UNKNOWN and is_within(place, main) and not is_within(place, root):
            case.denies("bash:outside", f"git {name} would change {place!r}; work in your own lane")


def _judge_options(case: Case, name: str, options: Options) -> None:
    for option, value in options.flags:
        if option.startswith("--"):
            _judge_long(case, option, value)
        elif option == "-O" or (option == "-x" and name in ("rebase", "difftool")):
            case.hides(f"gives git {name} the option {option!r}, which runs a program")
        elif option == "-S" and name in ("commit", "merge", "rebase", "cherry-pick", "revert"):
            case.runs("signs with a program that settings name")
        elif option == "-o" and name in ("archive", "format-patch") and value is not None:
            case.writes(value)
    words = [w for w in options.unclear if not (name in ("add", "rm", "mv") and _is_glob(w))]
    for word in words:
        case.runs(f"{word.raw!r} may turn into an option")


def _judge_long(case: Case, option: str, value: Word | None) -> None:
    if option in _WHOLE_OPTIONS or len(option) < 4:
        return
    if any(risky.startswith(option) for risky in _RUNS):
        case.hides(f"gives git the option {option!r}, which runs a program")
    elif "--output".startswith(option) or option == "--output-directory":
        if value is not None:
            case.writes(value)
        else:
            case.runs("writes a file that isn't known")


def _is_glob(word: Word) -> bool:
    return word.has_glob and UNKNOWN not in word.text and not word.is_split


def _judge_paths(case: Case, name: str, options: Options) -> None:
    for option, value in options.flags:
        if option in _READ_VALUES and value is not None:
            case.reads(value)
    operands = options.operands[1:] if name == "grep" else options.operands
    for word in operands:
        revision, colon, path = word.text.partition(":")
        if colon and revision and is_secret_name(folded(path.rsplit("/", 1)[-1])):
            case.findings.needs_exact = True
            case.runs(f"shows {path!r} as it once was, secrets too", "bash:secret-history")
        elif name in ("log", "whatchanged", "rev-list"):
            if is_secret_name(folded(word.text.rsplit("/", 1)[-1])):
                case.runs(f"shows {word.text!r} as it once was", "bash:secret-history")
        elif name not in _HARMLESS_LOOKS and not (name == "rm" and options.has("--cached")):
            case.reads(word)


def _by_table(case: Case, name: str) -> None:
    if name in _READS:
        return
    if name in _WRITES:
        case.changes("changes files or git's index")
    elif name in _HISTORY:
        case.runs("rewrites or drops commits, or work not committed", HISTORY)
    elif name in _NETWORK:
        case.runs("talks to another repository", NETWORK)
    else:
        case.runs(f"runs 'git {name}', which is none of git's plain commands")


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


def _restore(case: Case, options: Options) -> None:
    is_all = any(word.text in _ALL for word in options.operands)
    is_index = options.has("--staged", "-S") and not options.has("--worktree", "-W")
    if is_all and not is_index:
        case.runs("throws away work that isn't committed", HISTORY)
    else:
        case.changes("restores files")


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
    elif options.operands and not options.has(*_LISTING):
        case.changes("makes a branch")


def _tag(case: Case, options: Options) -> None:
    if options.has("-d", "-f", "--delete", "--force"):
        case.runs("deletes or moves a tag", HISTORY)
    elif options.has("-s", "-u", "-v", "--sign", "--verify"):
        case.runs("signs with a program that settings name")
    elif options.operands and not options.has(*_FILTERS, "-n"):
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
    is_read = options.has("-l", "--list", "--get", "--get-all", "--get-regexp", "--get-urlmatch")
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
            for place in _folders(case, word):
                is_outside = not is_within(place, str(case.ground.root))
                if place != UNKNOWN and (is_outside or is_within(place, lanes)):
                    case.denies("bash:outside", f"{place!r} is a lane; close it with a tool")


def _clean(case: Case, options: Options) -> None:
    if not options.has("-n", "--dry-run"):
        case.runs("deletes files git doesn't know", "bash:rm")


def _remove(case: Case, options: Options) -> None:
    if options.has("-n", "--dry-run"):
        return
    if options.has("--cached"):
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
    if not options.has("--check", "--stat", "--numstat", "--summary"):
        case.changes("changes files as a patch says")


def _archive(case: Case, options: Options) -> None:
    if options.has("--remote"):
        case.runs("talks to another repository", NETWORK)


def _bundle(case: Case, options: Options) -> None:
    if options.operands and options.operands[0].text == "create":
        case.writes_each(options.operands[1:2])


def _format_patch(case: Case, options: Options) -> None:
    if not options.has("--stdout"):
        case.changes("writes patches")


def _hash_object(case: Case, options: Options) -> None:
    if options.has("-w"):
        case.changes("writes an object")


def _bisect(case: Case, options: Options) -> None:
    action = options.operands[0].text if options.operands else ""
    if action == "run":
        case.hides("runs a command on many commits")
        case.starts(options.operands[1:])
    elif action not in ("log", "terms"):
        case.runs("moves through history", HISTORY)


def _init(case: Case, options: Options) -> None:
    case.runs("makes a repository, which can have settings of its own")
    case.reads_each(options.operands)


def _clone(case: Case, options: Options) -> None:
    case.runs("talks to another repository", NETWORK)
    case.writes_each(options.operands[1:2])


_SPECIAL: Mapping[str, Callable[[Case, Options], None]] = {
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
    "hash-object": _hash_object,
    "init": _init,
    "mv": _move,
    "notes": _notes,
    "reflog": _reflog,
    "remote": _remote,
    "restore": _restore,
    "rm": _remove,
    "stash": _stash,
    "submodule": _submodule,
    "switch": _switch,
    "symbolic-ref": _symbolic_ref,
    "tag": _tag,
    "worktree": _worktree,
}

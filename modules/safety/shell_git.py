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

from modules.safety.path_names import folded, is_secret_name
from modules.safety.path_risk import is_within
from modules.safety.shell_case import Case
from modules.safety.shell_git_commands import HISTORY, NETWORK, SPECIAL, folders_of
from modules.safety.shell_options import Options, read_options
from modules.safety.shell_tables import names
from modules.safety.shell_words import UNKNOWN, Word

_READS = names(
    "status log diff show blame annotate shortlog describe rev-parse rev-list ls-files ls-tree"
    " cat-file show-ref for-each-ref merge-base name-rev diff-tree diff-index diff-files cherry"
    " grep var count-objects check-ignore check-attr check-mailmap check-ref-format whatchanged"
    " range-diff show-branch fsck version column stripspace patch-id merge-tree get-tar-commit-id"
    " verify-pack"
)
_WRITES = names("add commit switch checkout restore mv stash apply notes update-index write-tree")
_HISTORY = names(
    "rebase merge cherry-pick revert am filter-branch filter-repo update-ref gc prune repack"
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
    " --set-upstream-to --default --max-depth --threads --local-user --ref --include --whitespace"
    " --build-fake-ancestor --suffix --subject-prefix --signature --in-reply-to --to --cc --from"
    " --add-header --base --creation-factor"
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
    "config": names("-f --file --blob --type --default --value --comment --url"),
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
_WHOLE_OPTIONS = names("--text --filter --page --sign --exc --local")
"""Options of git's own that are beginnings of dangerous ones."""
_READ_VALUES = names(
    "-F --file --contents --pathspec-from-file --template --ignore-revs-file --exclude-from"
)
_HARMLESS_LOOKS = names("check-ignore check-attr ls-files status")


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
    values = _SHORT_VALUES.get(name.text, _DEFAULT_VALUES)
    if name.text != "config":
        values |= _LONG_VALUES
    options = read_options(args, values, stops=name.text == "config")
    _judge_options(case, name.text, options)
    _judge_paths(case, name.text, options)
    special = SPECIAL.get(name.text)
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
        return _is_elsewhere(case, folders_of(case, target))
    if text == "-c" and args:
        setting = args.pop(0)
        if not (setting.is_known and _FREE_SETTING.fullmatch(setting.text)):
            case.hides(f"sets {setting.raw!r} for git, which may run programs")
        return False
    if text == "--exec-path" or text in _FREE_GLOBALS:
        return False
    case.hides(f"gives git the option {text!r}, which may run programs")
    return False


def _is_elsewhere(case: Case, folders: tuple[str, ...]) -> bool:
    return any(folder != str(case.ground.root) for folder in folders)


def _judge_elsewhere(case: Case, name: str, *, changes: bool) -> None:
    case.runs("runs git in a folder whose own settings may run programs")
    main, root = str(case.ground.main_checkout), str(case.ground.root)
    places = [*case.call.folders]
    for word in case.args[:8]:
        places.extend(folder for folder in folders_of(case, word) if word.text[:1] in ("/", "."))
    for place in places:
        if changes and place != UNKNOWN and is_within(place, main) and not is_within(place, root):
            case.denies("bash:outside", f"git {name} would change {place!r}; work in your own lane")


def _judge_options(case: Case, name: str, options: Options) -> None:
    for option, value in options.flags:
        if option.startswith("--"):
            _judge_long(case, option, value)
        elif option == "-O" or (option == "-x" and name in ("rebase", "difftool")):
            case.hides(f"gives git {name} the option {option!r}, which runs a program")
            case.findings.nested.extend([value.text] if value is not None else [])
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
        path = word.text.rpartition(":")[2]
        is_excluded = word.text.startswith((":!", ":^", ":(exclude"))
        if ":" in word.text and not is_excluded and is_secret_name(folded(path.rsplit("/", 1)[-1])):
            case.findings.needs_exact = True
            case.runs(f"shows {path!r} as it once was, secrets too", "bash:secret-history")
        elif name in ("log", "whatchanged", "rev-list"):
            if is_secret_name(folded(word.text.rsplit("/", 1)[-1])):
                case.runs(f"shows {word.text!r} as it once was", "bash:secret-history")
        elif name not in _HARMLESS_LOOKS and not (name == "rm" and options.surely_has("--cached")):
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

"""Judges programs that move, copy, link, pack and delete files; pure but for looking at disk.

1. Sources are read, targets are written; both must be known, and where they may be.
2. A target that is a folder gets the source's name below it.
3. Removing, moving away or opening up the system, a home, the whole checkout is critical.
"""

import os
import re
from collections.abc import Sequence

from modules.safety.path_risk import is_root, is_within
from modules.safety.shell_case import Case
from modules.safety.shell_options import Options, read_options
from modules.safety.shell_tables import names
from modules.safety.shell_wipe import is_system_path, wipe_reason
from modules.safety.shell_words import UNKNOWN, Word, literal

_COPY_VALUES = names("-t --target-directory -S --suffix -m --mode -o --owner -g --group")
_SET_ID = re.compile(r"[0-7]*[2-7][0-7]{3}|[ugoa,+=rwxX-]*[+=][rwxXt]*s[rwxXt]*.*")
_MODE_AS_OPTION = re.compile(r"-[rwxXst]+")
_XXD_VALUES = names(
    "-c -cols -g -groupsize -l -len -n -name -o -offset -s -seek -skip -R --cols --groupsize --len"
    " --name --offset --seek --skip"
)


def judge_rm(case: Case) -> None:
    """Judges `rm` and its kind."""
    options = read_options(case.args)
    if options.has("--no-preserve-root"):
        case.critical("bash:system", "removes the root of the file system")
    case.runs("deletes files", "bash:rm")
    for word in options.operands:
        if not _wipes(case, word):
            case.deletes(word)


def judge_shred(case: Case) -> None:
    """Judges `shred`, which overwrites."""
    options = read_options(case.args, names("-n -s --iterations --size --random-source"))
    case.runs("destroys what files hold", "bash:rm")
    case.writes_each(options.operands)


def judge_copy(case: Case) -> None:
    """Judges `cp` and `install`."""
    options = read_options(case.args, _COPY_VALUES)
    _warn_of_options(case, options)
    if options.has("--strip-program", "-s") and case.name == "install":
        case.hides("runs a program on what it copies")
    if options.has("-d", "--directory") and case.name == "install":
        case.writes_each(options.operands)
        return
    sources, target = _sides(options)
    case.reads_each(sources)
    if case.name == "cp" and options.has("-l", "-s", "--link", "--symbolic-link"):
        for word in sources:
            _links_to(case, word, literal("."))
    _write_into(case, sources, target)


def judge_move(case: Case) -> None:
    """Judges `mv`: what is moved is gone from where it was."""
    options = read_options(case.args, _COPY_VALUES)
    _warn_of_options(case, options)
    sources, target = _sides(options)
    if any([_wipes(case, word) for word in sources]):
        return
    for word in sources:
        case.reads(word)
        case.writes(word)
    if target is not None and target.text == "/dev/null":
        case.critical("bash:system", "replaces the null device")
        return
    _write_into(case, sources, target)


def judge_link(case: Case) -> None:
    """Judges `ln`."""
    options = read_options(case.args, _COPY_VALUES)
    _warn_of_options(case, options)
    sources, target = _sides(options)
    if not sources and target is not None:
        sources, target = (target,), literal(".")
    for word in sources:
        _links_to(case, word, target)
    _write_into(case, sources, target)


def judge_mode(case: Case) -> None:
    """Judges `chmod`, `chown` and `chgrp`."""
    options = read_options(case.args, names("--reference --from"))
    _warn_of_options(case, options)
    operands = options.operands
    is_given = options.has("--reference") or (
        case.name == "chmod" and any(_MODE_AS_OPTION.fullmatch(w.text) for w in case.args)
    )
    mode = "" if is_given or not operands else operands[0].text
    if case.name != "chmod":
        case.runs("changes who owns files", "bash:write")
    elif _SET_ID.fullmatch(mode):
        case.runs("makes a program run with another user's rights")
    is_deep = options.has("-R", "--recursive")
    for word in operands if is_given else operands[1:]:
        if not _opens_system(case, word, is_deep=is_deep):
            case.writes(word)


def judge_dd(case: Case) -> None:
    """Judges `dd`."""
    for word in case.args:
        name, _, _ = word.text.partition("=")
        value = word.after(len(name) + 1)
        if name == "of":
            case.writes(value)
        elif name == "if":
            case.reads(value)
            if value.text.startswith("/dev/") and value.text[5:] not in (
                *("zero", "null", "random", "urandom", "stdin"),
            ):
                case.runs(f"reads the device {value.text!r}")
        elif UNKNOWN in name:
            case.runs("has operands that aren't known")


def judge_patch(case: Case) -> None:
    """Judges `patch`: what it changes stands in what it is given, beside a file that is named."""
    options = read_options(case.args, names("-i -o -r -d -p -F -D -B -z -V --input --output"))
    case.runs("changes files that a patch names")
    case.reads_each((*options.operands[1:], *options.values("-i", "--input")))
    case.writes_each((*options.operands[:1], *options.values("-o", "--output", "-r", "-d")))


def judge_mktemp(case: Case) -> None:
    """Judges `mktemp`: the system's folder for temporary files is its place."""
    options = read_options(case.args, names("-p --tmpdir --suffix"))
    case.changes("makes a temporary file")
    for word in (*options.operands, *options.values("-p", "--tmpdir")):
        if not word.text.startswith(("/tmp/", UNKNOWN)) and word.text != "/tmp":
            case.writes(word)


def judge_xxd(case: Case) -> None:
    """Judges `xxd`, whose second operand is written and whose options don't bundle."""
    operands = list(case.args)
    while operands and operands[0].text.startswith("-") and operands[0].text != "-":
        option = operands.pop(0)
        if option.text in _XXD_VALUES and operands:
            operands.pop(0)
    warn_of_output(case, operands)
    case.reads_each(operands[:1])
    case.writes_each(word for word in operands[1:] if word.text != "-")


def warn_of_output(case: Case, operands: Sequence[Word]) -> None:
    """Notes operands that may become several, so that one of them is written."""
    for word in operands:
        if word.may_be_option or word.is_split or word.has_glob:
            case.runs(f"{word.raw!r} may name the file {case.name} writes")


def _warn_of_options(case: Case, options: Options) -> None:
    for word in options.unclear:
        if word.may_hide_option:
            case.runs(f"{word.raw!r} may turn into an option")


def _sides(options: Options) -> tuple[tuple[Word, ...], Word | None]:
    target = next(iter(options.values("-t", "--target-directory")), None)
    if target is not None:
        return options.operands, target
    if not options.operands:
        return (), None
    return options.operands[:-1], options.operands[-1]


def _write_into(case: Case, sources: Sequence[Word], target: Word | None) -> None:
    if target is None:
        return
    case.writes(target)
    if UNKNOWN in target.text:
        return
    for folder in case.call.folders:
        if not (target.text.endswith("/") or _is_folder(case, target.text, folder)):
            continue
        for word in sources:
            base = word.text.rstrip("/").rsplit("/", 1)[-1]
            if base and UNKNOWN not in base and base not in (".", ".."):
                below = f"{target.text.rstrip('/')}/{base}"
                case.writes(Word(raw=below, pattern=_below(target, word)))


def _below(target: Word, source: Word) -> str:
    base = source.pattern.rstrip("/").rsplit("/", 1)[-1]
    return f"{target.pattern.rstrip('/')}/{base}"


def _is_folder(case: Case, text: str, folder: str) -> bool:
    if text in (".", ".."):
        return True
    return folder != UNKNOWN and os.path.isdir(case.spot(text, folder).resolved)  # noqa: PTH112 (spots are strings)


def _wipes(case: Case, word: Word) -> bool:
    is_critical = False
    for text in word.values():
        for folder in case.call.folders:
            why = wipe_reason(text, folder, case.ground)
            if why:
                case.critical("bash:wipe", why)
                is_critical = True
    return is_critical


def _opens_system(case: Case, word: Word, *, is_deep: bool) -> bool:
    for text in word.values():
        for folder in case.call.folders:
            if UNKNOWN in (text, folder):
                continue
            spot = case.spot(text, folder)
            why = wipe_reason(text, folder, case.ground) if is_deep else ""
            if is_system_path(spot.given, case.ground):
                case.critical("bash:system", f"changes the rights of {spot.given!r}")
                return True
            if why and is_root(spot, case.ground):
                case.runs("changes the rights of everything you work on", "bash:write")
                return True
            if why:
                case.critical("bash:wipe", why)
                return True
    return False


def _links_to(case: Case, source: Word, target: Word | None) -> None:
    """Judges what a link leads to; a relative one travels with the tree it lies in."""
    case.reads(source)
    for folder in case.call.folders:
        if UNKNOWN in (source.text, folder):
            case.runs(f"links to {source.raw!r}, which isn't known before it runs")
            continue
        spot = case.spot(source.text, folder)
        is_there = source.text.startswith("/") or os.path.lexists(spot.resolved)
        if is_there and not is_within(spot.resolved, os.path.realpath(case.ground.root)):
            case.runs(f"links to {spot.given!r}, outside the folder you work in")

"""Judges `find`, `xargs` and searching programs; pure but for links."""

import re

from modules.safety.path_risk import is_within
from modules.safety.shell_case import Case
from modules.safety.shell_globs import names_secret
from modules.safety.shell_options import read_options
from modules.safety.shell_pipes import fetches, printed_before
from modules.safety.shell_tables import INTERPRETERS, SHELLS, names
from modules.safety.shell_wipe import wipe_reason
from modules.safety.shell_words import UNKNOWN, Word, escaped, literal

_XARGS_VALUES = names(
    "-I -n -P -L -s -d -E -a --max-args --max-procs --max-lines --max-chars --delimiter --arg-file"
    " --replace --eof --process-slot-var"
)
_XARGS_OPTIONS = _XARGS_VALUES | names(
    "-0 -r -t -x -p -i -l -e --null --no-run-if-empty --verbose --exit --interactive"
)
_FIND_ACTIONS = names("-exec -execdir -ok -okdir")
_HOMES = frozenset({"/home", "/root", "/Users"})
_REMOVERS = names("rm rmdir unlink shred srm")
_NAME_TEST = re.compile(r"-i?(?:name|path|wholename)")
_FILTER = re.compile(
    r"-(?:i?name|i?path|i?wholename|i?lname|i?regex|size|perm|user|group|uid|gid|empty|nouser"
    r"|nogroup|[amc]?(?:min|time)|newer.*|anewer|cnewer|samefile|inum|links|used|context)"
)
"""Tests that leave most files out."""
_FIND_WRITES = names("-fprint -fprint0 -fls -fprintf")
_FIND_VALUES = re.compile(
    r"-(?:i?name|i?path|i?wholename|i?lname|i?regex|regextype|type|xtype|size|perm|user|group|uid"
    r"|gid|maxdepth|mindepth|[amc]?(?:min|time)|newer(?:[aBcm][aBcmt])?|anewer|cnewer|samefile|inum"
    r"|links|fstype|printf|used|context|files0-from|D)"
)
_SECRET_NAME = re.compile(
    r"(?i).*(?:id_(?:rsa|dsa|ecdsa|ed25519)|\.pem|\.key|\.env|\.netrc|credentials?|secrets?|\.ssh"
    r"|\.aws|\.p12|\.pfx|wallet|passwd|shadow|token).*"
)


def judge_find(case: Case) -> None:
    """Judges `find`."""
    words = list(case.args)
    starts = _starting_points(case, words)
    is_all = not any(_FILTER.fullmatch(word.text) for word in words)
    secrets = _secret_names(words)
    while words:
        word = words.pop(0)
        text = word.text
        if text in _FIND_ACTIONS:
            is_asked = text in ("-ok", "-okdir")
            _find_runs(case, words, starts, secrets, is_all=is_all and not is_asked)
        elif text == "-delete":
            case.hides("deletes what it finds", "bash:rm")
            _find_deletes(case, starts, is_all=is_all)
        elif text in _FIND_WRITES:
            case.writes_each(words[:1])
            del words[: 2 if text == "-fprintf" else 1]
        elif _FIND_VALUES.fullmatch(text) and words:
            _find_value(case, text, words.pop(0), starts)
        elif word.may_be_option:
            case.runs(f"{word.raw!r} may turn into an action of find")


def judge_xargs(case: Case) -> None:
    """Judges `xargs`: the command gets operands that nobody sees."""
    options = read_options(case.args, _XARGS_VALUES, stops=True)
    for name, _ in options.flags:
        if name not in _XARGS_OPTIONS:
            case.hides(f"gives xargs the option {name!r}, which isn't known")
    case.reads_each(options.values("-a", "--arg-file"))
    marks = [word.text for word in options.values("-I", "--replace")] or ["\n"]
    words = [_filled(word, marks[0]) for word in options.operands]
    if not words:
        return
    case.findings.needs_exact = True
    if words[0].text in SHELLS | INTERPRETERS and fetches(case, case.call.upstream):
        case.critical("bash:remote-code", "runs code straight from the network")
    printed = [*printed_before(case), case.call.input_text or ""]
    others = tuple(name for text in printed for name in text.split())
    if words[0].text in _REMOVERS:
        _deletes_found(case)
    case.starts([*words, Word(raw="…", pattern=UNKNOWN, is_split=True, others=others)])


def _deletes_found(case: Case) -> None:
    """Judges deleting what a `find` before this command prints."""
    for place in case.call.upstream:
        call = case.script.calls[place]
        if call.words and call.words[0].text == "find":
            found = list(call.words[1:])
            is_all = not any(_FILTER.fullmatch(word.text) for word in found)
            _find_deletes(case, _starting_points(case, found), is_all=is_all)


def judge_search(case: Case) -> None:
    """Notes a search through a whole home, secrets too."""
    texts = [word.text for word in case.args]
    is_deep = case.name not in ("grep", "egrep", "fgrep") or any(
        re.fullmatch(r"-\w*[rR]\w*|--(?:dereference-)?recursive|--directories=recurse", text)
        for text in texts
    )
    if not is_deep:
        return
    for word in case.args:
        if not word.text.startswith(("/", "~", "..", UNKNOWN)) or word.text == UNKNOWN:
            continue
        for folder in case.call.folders:
            place = case.spot(word.text, folder).given
            if place in _HOMES or is_within(str(case.ground.home), place):
                case.runs("searches a whole home, secrets too", "bash:search")


def _filled(word: Word, mark: str) -> Word:
    if mark not in word.text:
        return word
    return Word(raw=word.raw, pattern=word.pattern.replace(mark, UNKNOWN), is_split=False)


def _starting_points(case: Case, words: list[Word]) -> list[Word]:
    starts: list[Word] = []
    while words and (words[0].text in ("-H", "-L", "-P") or words[0].text.startswith("-O")):
        words.pop(0)
    while words and not words[0].text.startswith(("-", "(", ")", "!", ",")):
        word = words.pop(0)
        if word.may_be_option:
            case.runs(f"{word.raw!r} may turn into an action of find")
        case.reads(word)
        starts.append(word)
    return starts


def _find_runs(
    case: Case, words: list[Word], starts: list[Word], secrets: tuple[str, ...], *, is_all: bool
) -> None:
    case.hides("runs a command on what it finds")
    command: list[Word] = []
    found = Word(raw="{}", pattern=UNKNOWN, is_split=True, others=secrets)
    while words:
        word = words.pop(0)
        if word.text in (";", "+"):
            break
        command.append(found if "{}" in word.text else word)
    if command and command[0].text in _REMOVERS:
        _find_deletes(case, starts, is_all=is_all)
    case.starts(command)


def _secret_names(words: list[Word]) -> tuple[str, ...]:
    """Returns the names of secrets that a search asks for."""
    texts = [word.text for word in words]
    found = []
    for place, test in enumerate(texts[:-1]):
        is_left_out = texts[place - 1 : place] in (["!"], ["-not"])
        if _NAME_TEST.fullmatch(test) and not is_left_out and names_secret(texts[place + 1]):
            found.append(escaped(texts[place + 1].rsplit("/", 1)[-1]))
    return tuple(found)


def _find_deletes(case: Case, starts: list[Word], *, is_all: bool) -> None:
    for word in starts or [literal(".")]:
        for folder in case.call.folders:
            if UNKNOWN in (word.text, folder):
                continue
            spot = case.spot(word.text, folder)
            root = str(case.ground.root)
            if spot.given == root and not is_all:
                continue
            why = wipe_reason(word.text, folder, case.ground)
            if why:
                case.critical("bash:wipe", why)
            else:
                case.deletes(word)


def _find_value(case: Case, test: str, value: Word, starts: list[Word]) -> None:
    if value.is_split or (value.may_be_option and value.has_glob):
        case.runs(f"{value.raw!r} may turn into an action of find")
    if test in ("-files0-from", "-samefile", "-newer", "-anewer", "-cnewer"):
        case.reads(value)
    if "name" in test or "path" in test or "regex" in test:
        is_inside = all(_is_inside(case, word) for word in starts)
        if not is_inside and _SECRET_NAME.fullmatch(value.text):
            case.runs("looks for secrets outside the folder you work in", "bash:search")


def _is_inside(case: Case, word: Word) -> bool:
    root = str(case.ground.root)
    spots = [case.spot(word.text, folder).given for folder in case.call.folders]
    return all(spot == root or spot.startswith(f"{root}/") for spot in spots)

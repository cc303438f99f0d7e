"""Judges shells, interpreters and programs nothing else is known of; pure.

1. A script that is written out, as an argument or as input, is judged like the command line.
2. Code that comes from the network, or out of an encoding, is critical.
"""

import re
from collections.abc import Sequence

from modules.safety.shell_agents import judge_agent
from modules.safety.shell_case import Case
from modules.safety.shell_options import read_options
from modules.safety.shell_pipes import (
    downloaded,
    fetches,
    has_downloads,
    is_decoding,
    loose_paths,
    printed_before,
)
from modules.safety.shell_tables import AGENTS, SHELLS, names
from modules.safety.shell_wipe import wipe_reason
from modules.safety.shell_words import UNKNOWN, Word

_EDITORS = names("vi vim nvim nano pico emacs ed ex micro joe hx kak rename")
"""Programs nobody can see through, but that change the files they are given."""
_INLINE = {
    "python": names("-c"),
    "node": names("-e -p --eval --print"),
    "perl": names("-e -E -n -p"),
    "ruby": names("-e"),
    "php": names("-r"),
    "deno": names("eval"),
    "bun": names("-e --eval"),
    "lua": names("-e"),
}
_QUOTED = re.compile(r"""['"]([^'"\s]{2,200})['"]""")
_WIPES = re.compile(r"""\brm\s+-[rRf]{2,}\s+[/~](?:["'\s]|$)|rmtree\(\s*["'][/~]["']""")
_REMOVES = re.compile(r"rmtree|rmSync|rm_r|rimraf|remove_tree|remove_entry|rmdirSync|fs\.rm\b")
_STARTS = re.compile(
    r"(?:system|popen|Popen|getoutput|check_output|check_call|execSync|shell_exec|passthru"
    r"|subprocess\.(?:run|call))\s*\(?\s*([\"'])(.+?)\1"
)
"""Calls that start what a text in them says, as a shell would."""
_REMOTE_CODE = re.compile(
    r"\b(?:exec|eval)\s*\(.*(?:urlopen|requests\.get|http\.get|fetch\()"
    r"|(?:urlopen|requests\.get|https?[\"']?\)?\.get|fetch\().*\b(?:exec|eval)\s*\(",
    re.DOTALL,
)
_REVERSE_SHELL = re.compile(
    r"socket\b.*(?:subprocess|dup2|pty\.spawn|/bin/(?:ba)?sh|child_process)"
    r"|/dev/tcp/|fsockopen.*(?:exec|proc_open)|TCPSocket.*(?:popen|exec|system|spawn)"
    r"|net\.(?:Socket|connect|createConnection).*(?:spawn|exec)",
    re.DOTALL,
)


def judge_shell(case: Case) -> None:
    """Judges a shell."""
    options = read_options(case.args, names("-o -O -c --rcfile --init-file"), stops=True)
    takes_code = any("c" in word.text for word in case.args if re.fullmatch(r"-\w+", word.text))
    if options.surely_has("-n") and not takes_code and options.operands:
        case.reads_each(options.operands)
        return
    case.hides(f"runs {case.name}")
    scripts = options.values("-c")
    for word in scripts:
        case.findings.nested.append(word.text)
    if not scripts:
        case.reads_each(options.operands[:1])
        _judge_input(
            case,
            is_code=not options.operands or options.has("-s") or _is_input(options.operands[0]),
        )
    elif fetches(case, case.call.inside) or _keeps_download(case, scripts):
        case.critical("bash:remote-code", "runs code straight from the network")
    if case.call.is_network_fed or any(
        call.is_network_fed and call.words and call.words[0].text == "exec"
        for call in case.script.calls
    ):
        case.critical("bash:remote-code", "hands a shell to the network")


def judge_evaluation(case: Case) -> None:
    """Judges `eval`, `source` and `trap`."""
    case.hides(f"runs what {case.name} is given")
    if case.name == "eval":
        case.findings.nested.append(" ".join(word.text for word in case.args))
    elif case.name == "trap":
        case.findings.nested.extend(word.text for word in case.args[:1])
    else:
        case.reads_each(case.args[:1])
        _judge_input(case, is_code=bool(case.args) and _is_input(case.args[0]))
    if fetches(case, case.call.inside) or (
        case.name == "eval" and _keeps_download(case, case.args)
    ):
        case.critical("bash:remote-code", "runs code straight from the network")


def _keeps_download(case: Case, scripts: Sequence[Word]) -> bool:
    """True where code that isn't known may be what the script fetched before."""
    return any(UNKNOWN in word.text for word in scripts) and has_downloads(case)


def judge_interpreter(case: Case) -> None:
    """Judges an interpreter of another language."""
    case.runs(f"runs {case.name}")
    judge_agent(case)
    case.reads_each(loose_paths(case.args))
    if [word.text for word in case.args[:2]] == ["-m", "pip"]:
        case.starts(case.args[1:])
    family = re.sub(r"[0-9.]+$|js$", "", case.name)
    inline = _INLINE.get(family, names("-e -c"))
    code = [case.args[n + 1] for n, w in enumerate(case.args[:-1]) if w.text in inline]
    for word in code:
        if _REVERSE_SHELL.search(word.text):
            case.critical("bash:remote-code", "opens a shell to the network")
        if _REMOTE_CODE.search(word.text):
            case.critical("bash:remote-code", "runs code straight from the network")
        case.findings.nested.extend(found for _, found in _STARTS.findall(word.text))
        _judge_removals(case, word.text)
        case.reads_each(Word(raw=p, pattern=p) for p in _QUOTED.findall(word.text))
    operands = [word for word in case.args if not word.text.startswith("-") or word.text == "-"]
    is_module = any(word.text == "-m" for word in case.args)
    _judge_input(case, is_code=not (code or is_module) and (not operands or _is_input(operands[0])))
    if code and fetches(case, case.call.inside):
        case.critical("bash:remote-code", "runs code straight from the network")


def _judge_removals(case: Case, code: str) -> None:
    if _WIPES.search(code):
        case.critical("bash:wipe", "removes the system or a home")
    if _REMOVES.search(code):
        for path in _QUOTED.findall(code):
            start = str(case.ground.home) if path[0] == "~" else ""
            why = wipe_reason(start + path.lstrip("~"), UNKNOWN, case.ground)
            if why:
                case.critical("bash:wipe", why)


def judge_path(case: Case) -> None:
    """Judges a program called by its path."""
    case.runs(f"runs the program {case.name!r}")
    judge_agent(case)
    case.reads_each(loose_paths(case.args))
    if case.name.rsplit("/", 1)[-1] in downloaded(case):
        case.critical("bash:remote-code", "runs what it just fetched from the network")


def judge_other(case: Case) -> None:
    """Judges a program nothing is known of."""
    if case.name in AGENTS:
        case.critical("bash:agent", f"starts another agent, {case.name}")
    case.runs(f"runs {case.name}")
    judge_agent(case)
    case.reads_each(loose_paths(case.args))
    if case.name in _EDITORS:
        case.writes_each(word for word in case.args if word.is_known and word.text[0:1] not in "-+")


def _judge_input(case: Case, *, is_code: bool) -> None:
    """Judges what a shell or interpreter reads as its program."""
    calls = case.script.calls
    fed = [*case.call.upstream, *case.call.inside]
    if is_code and fetches(case, fed):
        case.critical("bash:remote-code", "runs code straight from the network")
    if is_code and any(is_decoding(calls[place]) for place in case.call.upstream):
        case.critical("bash:remote-code", "runs code that is hidden by an encoding")
    if is_code and case.name in SHELLS:
        if case.call.input_text is not None:
            case.findings.nested.append(case.call.input_text)
        case.findings.nested.extend(printed_before(case))
    if any(w.text.rsplit("/", 1)[-1] in downloaded(case) for w in case.args):
        case.critical("bash:remote-code", "runs what it just fetched from the network")


def _is_input(word: Word) -> bool:
    return word.text in ("-", "/dev/stdin", "/dev/fd/0", "/dev/fd/63", "/proc/self/fd/0")

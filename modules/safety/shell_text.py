"""Judges programs that take a script of their own: sed, awk, jq; pure."""

import re

from modules.safety.shell_awk import read_awk
from modules.safety.shell_case import Case
from modules.safety.shell_options import Options, read_options
from modules.safety.shell_sed import read_sed
from modules.safety.shell_tables import names
from modules.safety.shell_words import UNKNOWN, Word, literal

_SED_VALUES = names("-e -f -l --expression --file --line-length")
_SED_OPTIONS = names(
    "-n -e -E -r -s -u -z -i -l --quiet --silent --expression --regexp-extended --separate"
    " --unbuffered --null-data --in-place --line-length --posix --debug --sandbox"
    " --follow-symlinks --version --help"
)
_AWK_STRING = re.compile(r'"([^"\\\s]{2,200})"')
_AWK_VALUES = names("-F -v -f -e -i -l -E --field-separator --assign --file --source --include")
_AWK_OPTIONS = names("-F -v --field-separator --assign --posix --traditional --re-interval")
_JQ_VALUES = names("-f -L --from-file --indent --tab --arg --argjson --slurpfile --rawfile")
_JQ_RUNS = re.compile(r"(?<![.\w\"])(?:env|input_filename|import|include|modulemeta)\b|\$ENV|\$__")


def judge_sed(case: Case) -> None:
    """Judges `sed`: its script may write files and run programs."""
    options = read_options(_spread_in_place(case.args), _SED_VALUES)
    _check(case, options, _SED_OPTIONS)
    scripts = options.values("-e", "--expression")
    files = list(options.operands)
    if not scripts and files:
        scripts = [files.pop(0)]
    text = "\n".join(word.text for word in scripts)
    use = read_sed(text)
    if UNKNOWN in text or not use.is_understood or any(word.has_glob for word in scripts):
        case.hides("has a sed script that may run commands")
    case.reads_each(literal(name) for name in use.reads if name != "/dev/stdin")
    case.writes_each(literal(name) for name in use.writes)
    if options.has("-i", "--in-place"):
        case.writes_each(files)
    else:
        case.reads_each(files)


def judge_awk(case: Case) -> None:
    """Judges `awk`: its program may write files and run programs."""
    options = read_options(case.args, _AWK_VALUES, stops=True)
    _check(case, options, _AWK_OPTIONS)
    if not options.operands:
        return
    program, files = options.operands[0], options.operands[1:]
    use = read_awk(program.text)
    if UNKNOWN in program.text or not use.is_understood:
        case.hides("has an awk program that may run commands")
        case.reads_each(literal(name) for name in _AWK_STRING.findall(program.text))
    case.writes_each(literal(name) for name in use.writes if name)
    case.reads_each(files)


def judge_jq(case: Case) -> None:
    """Judges `jq`: its filter may show the environment."""
    args: list[Word] = []
    rest = list(case.args)
    while rest:
        word = rest.pop(0)
        if word.text in ("--arg", "--argjson"):
            del rest[:2]
        elif word.text in ("--slurpfile", "--rawfile") and len(rest) > 1:
            case.reads(rest[1])
            del rest[:2]
        elif word.text in ("--args", "--jsonargs"):
            break
        else:
            args.append(word)
    options = read_options(args, _JQ_VALUES)
    for word in options.unclear:
        case.runs(f"{word.raw!r} may turn into an option")
    if options.has("-f", "--from-file", "-L"):
        case.hides("has a filter that isn't written out")
    elif options.operands and _JQ_RUNS.search(options.operands[0].text):
        case.runs("shows variables of the environment", "bash:env")
    case.reads_each(options.operands[1:])


def _check(case: Case, options: Options, known: frozenset[str]) -> None:
    for name, _ in options.flags:
        is_abbreviated = name.startswith("--") and any(o.startswith(name) for o in known)
        if name not in known and not is_abbreviated:
            case.hides(f"has the option {name!r}, which may run commands")
    for word in options.unclear:
        case.runs(f"{word.raw!r} may turn into an option")


def _spread_in_place(args: tuple[Word, ...]) -> list[Word]:
    """Returns the arguments with the suffix of `-i` cut off, so that it isn't read as options."""
    spread = []
    for word in args:
        match = re.fullmatch(r"(-[nErsuz]*i)(.+)", word.text, re.DOTALL)
        is_cut = match is not None and not word.text.startswith("--")
        spread.append(literal(match.group(1)) if match is not None and is_cut else word)
    return spread

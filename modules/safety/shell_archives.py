"""Judges programs that pack and unpack; pure but for links."""

from collections.abc import Sequence

from modules.safety.path_risk import is_within
from modules.safety.shell_case import Case
from modules.safety.shell_options import Options, read_options
from modules.safety.shell_tables import names
from modules.safety.shell_words import Word, literal

_RUNS_IN_TAR = (
    *("--use-compress-program", "--checkpoint-action", "--to-command", "--rsh-command"),
    *("--rmt-command", "--info-script", "--new-volume-script"),
)


def judge_tar(case: Case) -> None:
    """Judges `tar`."""
    args = list(case.args)
    if args and not args[0].text.startswith("-") and args[0].is_known:
        args[0] = literal(f"-{args[0].text}")
        args = _old_style(args)
    values = names(
        "-f -C -T -X -b -g -I -F -H -K -L -N -V --file --directory --files-from --exclude"
        " --exclude-from --transform --xform --owner --group --mode --mtime --strip-components"
        " --checkpoint --one-top-level"
    ) | set(_RUNS_IN_TAR)
    options = read_options(args, values)
    _warn_of_options(case, options)
    long_names = [name for name, _ in options.flags if name.startswith("--")]
    if options.has("-I", "-F") or any(_abbreviates(n, _RUNS_IN_TAR) for n in long_names):
        case.hides("runs a program on the archive")
        for word in options.values("-I", "-F", *_RUNS_IN_TAR):
            case.findings.nested.append(word.text.removeprefix("exec="))
    if options.has("--remove-files"):
        case.hides("deletes what it packs", "bash:rm")
    _tar_files(case, options)


def judge_zip(case: Case) -> None:
    """Judges `zip`."""
    options = read_options(case.args, names("-x -i -b -n -t -tt -P -TT --unzip-command"))
    _warn_of_options(case, options)
    if options.has("-TT", "--unzip-command", "-T"):
        case.hides("runs a program to test the archive")
    if options.has("-m", "--move"):
        case.hides("deletes what it packs", "bash:rm")
    case.writes_each(options.operands[:1])
    case.reads_each(options.operands[1:])


def judge_unzip(case: Case) -> None:
    """Judges `unzip`."""
    options = read_options(case.args, names("-d -x -P"))
    _warn_of_options(case, options)
    case.reads_each(options.operands[:1])
    if options.surely_has("-l", "-p", "-t", "-v", "-Z", "-z"):
        return
    case.changes("unpacks an archive")
    case.writes_each(options.values("-d"))


def _old_style(args: list[Word]) -> list[Word]:
    """Returns arguments in which the values of bundled letters follow their own option."""
    letters = args[0].text[1:]
    taking = [letter for letter in letters if letter in "fCTXbgIFHKLNV"]
    plain = "".join(letter for letter in letters if letter not in taking)
    given = args[1 : 1 + len(taking)]
    pairs = [
        w
        for letter, value in zip(taking, given, strict=False)
        for w in (literal(f"-{letter}"), value)
    ]
    return [literal(f"-{plain}"), *pairs, *args[1 + len(taking) :]]


def _tar_files(case: Case, options: Options) -> None:
    archives = options.values("-f", "--file")
    case.reads_each(options.values("-T", "--files-from", "-X", "--exclude-from"))
    if any(":" in word.text for word in archives) and not options.has("--force-local"):
        case.runs("reaches an archive on another machine", "bash:net")
    if options.has("-x", "--extract", "--get"):
        case.reads_each(archives)
        if options.has("-P", "--absolute-names"):
            case.hides("unpacks to wherever the archive says")
        if not options.has("-O", "--to-stdout"):
            case.changes("unpacks an archive")
            case.writes_each(options.values("-C", "--directory", "--one-top-level"))
    elif options.surely_has("-t", "--list", "-d", "--diff", "--compare"):
        case.reads_each(archives)
    else:
        case.reads_each(options.operands)
        _takes_in_home(case, options.operands)
        case.writes_each(word for word in archives if word.text != "-")


def _takes_in_home(case: Case, words: Sequence[Word]) -> None:
    for word in words:
        for folder in case.call.folders:
            spot = case.spot(word.text, folder)
            if is_within(str(case.ground.home), spot.given):
                case.runs(f"takes in all of {spot.given!r}, secrets too", "bash:search")


def _abbreviates(option: str, names_: Sequence[str]) -> bool:
    return len(option) > 3 and any(name.startswith(option) for name in names_)


def _warn_of_options(case: Case, options: Options) -> None:
    for word in options.unclear:
        case.runs(f"{word.raw!r} may turn into an option")

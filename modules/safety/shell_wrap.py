"""Judges programs that run the command they are given; pure.

A harmless wrapper is as risky as what it wraps; any other one runs code in itself.
"""

import re
from collections.abc import Mapping

from modules.safety.shell_case import Case
from modules.safety.shell_options import read_options
from modules.safety.shell_tables import SYSTEM, names

_HARMLESS: Mapping[str, tuple[frozenset[str], frozenset[str], int]] = {
    "timeout": (
        names("-k -s --kill-after --signal"),
        names("-v --verbose --foreground --preserve-status"),
        1,
    ),
    "nice": (names("-n --adjustment"), names("-0 -1 -2 -3 -4 -5 -6 -7 -8 -9"), 0),
    "nohup": (frozenset(), frozenset(), 0),
    "stdbuf": (names("-i -o -e --input --output --error"), frozenset(), 0),
    "time": (
        names("-f -o --format --output"),
        names("-p -v -a --portability --verbose --append"),
        0,
    ),
    "command": (frozenset(), names("-p"), 0),
    "builtin": (frozenset(), frozenset(), 0),
    "ionice": (names("-c -n --class --classdata"), names("-t"), 0),
}
"""Options with a value, options without, and operands before the command."""
_OTHERS: Mapping[str, frozenset[str]] = {
    "env": names("-u -C -S --unset --chdir --split-string"),
    "setsid": frozenset(),
    "flock": names("-w -E -c --timeout --command --conflict-exit-code"),
    "watch": names("-n --interval"),
    "script": names("-c --command -I -O -B -T --log-in --log-out --log-io --log-timing"),
    "strace": names("-e -o -p -s -u -E -P --trace --output --attach"),
    "ltrace": names("-e -o -p -s -u"),
    "parallel": names("-j -I -a -S --jobs --arg-file"),
    "exec": names("-a"),
    "coproc": frozenset(),
    "busybox": frozenset(),
    "toybox": frozenset(),
    "xvfb-run": names("-n -s -e"),
    "unbuffer": frozenset(),
    "chronic": frozenset(),
    "prlimit": frozenset(),
    "taskset": frozenset(),
    "chrt": frozenset(),
    "numactl": frozenset(),
    "gdb": names("-ex -x -p"),
    "valgrind": frozenset(),
    "dbus-run-session": frozenset(),
    "bwrap": frozenset(),
    "firejail": frozenset(),
    "proot": frozenset(),
    "fakeroot": frozenset(),
    "sudo": names("-u -g -h -p -C -r -t -T -U -D"),
    "doas": names("-u -C"),
    "unshare": names("-S -G -R --setuid --setgid --root"),
    "nsenter": names("-t -S -G --target"),
    "chroot": frozenset(),
    "runuser": names("-u -g -c"),
    "su": names("-c -s -g --command --shell"),
    "pkexec": names("-u --user"),
}
_LEADING = {"flock": 1, "chroot": 1, "taskset": 1, "chrt": 1, "su": 1, "runuser": 1}
HARMLESS_WRAPPERS = frozenset(_HARMLESS)
RUNNERS = frozenset(_OTHERS)


def judge_wrapper(case: Case) -> None:
    """Judges a wrapper that changes nothing about what it runs."""
    with_value, without, leading = _HARMLESS[case.name]
    if case.name == "command" and case.args and case.args[0].text in ("-v", "-V"):
        return
    options = read_options(case.args, with_value, stops=True)
    if any(name not in with_value | without for name, _ in options.flags):
        case.runs(f"gives {case.name} an option that isn't known")
    if any(word.may_be_option for word in options.operands[: leading + 1]):
        case.runs("has operands that may turn into options")
    if case.name == "time":
        case.writes_each(options.values("-o", "--output"))
    words = options.operands[leading:]
    if words:
        case.findings.plain_forms.append(" ".join(word.raw for word in words))
    case.starts(words)


def judge_runner(case: Case) -> None:
    """Judges a wrapper that does more than to run something."""
    case.hides(f"runs what {case.name} is given")
    if case.name in SYSTEM:
        case.critical("bash:system", f"changes who or what a command runs as, with {case.name}")
    options = read_options(case.args, _OTHERS[case.name], stops=True)
    for word in options.values("-c", "--command", "-S", "--split-string"):
        case.findings.nested.append(word.text)
    words = list(options.operands[_LEADING.get(case.name, 0) :])
    if case.name == "script":
        case.writes_each(words[:1])
    if case.name == "watch":
        case.findings.nested.append(" ".join(word.text for word in words))
    if case.name in ("env", "sudo", "doas"):
        while words and re.match(r"[A-Za-z_]\w*=", words[0].text):
            words.pop(0)
    case.starts(words)

"""Judges one command by its name: the table it is in, or the judge it has; pure."""

import re
from collections.abc import Callable, Mapping
from dataclasses import replace

from modules.safety import (
    shell_archives,
    shell_code,
    shell_files,
    shell_find,
    shell_rsync,
    shell_system,
    shell_text,
    shell_wrap,
)
from modules.safety.path_risk import is_within
from modules.safety.shell_case import Case
from modules.safety.shell_git import judge_git
from modules.safety.shell_globs import names_secret
from modules.safety.shell_openssl import judge_openssl
from modules.safety.shell_options import Options, read_options
from modules.safety.shell_packages import PROGRAMS, judge_package_manager
from modules.safety.shell_pipes import fetches
from modules.safety.shell_tables import (
    CHECKED,
    DELETERS,
    DOWNLOADERS,
    INTERPRETERS,
    LEAKERS,
    NETWORK,
    PACKERS,
    READERS,
    SHELL_STATE,
    SHELLS,
    SYSTEM,
    TEXT_ONLY,
    VERSION_OPTIONS,
    VERSIONED,
    WRITERS,
    Effect,
    Spec,
    names,
)
from modules.safety.shell_words import UNKNOWN, Word, literal

_SYSTEM_FOLDERS = ("/usr/bin/", "/bin/", "/usr/sbin/", "/sbin/")
_SPECS = {**READERS, **CHECKED, **WRITERS, **DELETERS}
_GROUPED = names("docker kubectl helm npm pip pip3 uv poetry terraform")
"""Programs whose every command explains itself on `--help`, running nothing."""
_SUBCOMMAND = re.compile(r"[a-z][a-z-]*")
_TO_OUTPUT = ("-c", "--stdout", "--to-stdout", "-l", "--list", "-t", "--test")
_LONGEST_FORM = 4000
"""Characters of a command that rules are matched with."""


def judge_command(case: Case) -> None:
    """Notes everything that makes this command risky."""
    _note_forms(case)
    name = case.name
    for folder in _SYSTEM_FOLDERS:
        if name.startswith(folder) and "/" not in name[len(folder) :]:
            name = name[len(folder) :]
    case = case.named(name)
    if not name or UNKNOWN in name or any(sign in name for sign in "*?[{\n "):
        case.findings.opaque("its program isn't known before it runs")
        if fetches(case, case.call.inside):
            case.critical("bash:remote-code", "runs code straight from the network")
    elif "/" in name:
        shell_code.judge_path(case)
    elif not _asks_version(case):
        _judge_of(name)(case)


def judge_by_spec(case: Case) -> None:
    """Judges a program of the tables by its options and operands."""
    spec = _SPECS[case.name]
    options = read_options(case.args, spec.values)
    changes = spec.operands is Effect.CHANGES
    for option, value in options.flags:
        effect = _effect(spec, option)
        changes |= effect is Effect.CHANGES
        _take_effect(case, option, value, effect)
    if spec.is_checked:
        for word in options.unclear:
            if case.name in WRITERS and not word.may_hide_option:
                continue
            case.runs(f"{word.raw!r} may turn into an option")
    if changes:
        case.changes(f"{case.name} writes files")
    _take_operands(case, spec, options, changes=changes)


def _note_forms(case: Case) -> None:
    words = [case.name, *(word.text for word in case.args)]
    case.findings.forms.append(" ".join(words)[:_LONGEST_FORM])
    raw = f"{case.name} {' '.join(word.raw for word in case.args)}"
    case.findings.forms.append(raw.strip()[:_LONGEST_FORM])
    base = case.name.rsplit("/", 1)[-1]
    if base != case.name:
        case.findings.forms.append(" ".join([base, *words[1:]])[:_LONGEST_FORM])


def _asks_version(case: Case) -> bool:
    words = [word.text for word in case.args]
    if case.name in _GROUPED and words[-1:] == ["--help"]:
        return all(_SUBCOMMAND.fullmatch(word) for word in words[:-1])
    if words == ["version", "--client"]:
        return case.name == "kubectl"
    if case.name not in VERSIONED or len(words) != 1:
        return False
    return words[0] in VERSION_OPTIONS or (words[0], case.name) in (
        ("-v", "node"),
        ("-v", "npm"),
        ("-v", "yarn"),
        ("-v", "pnpm"),
        ("-v", "ruby"),
        ("-v", "php"),
        ("-v", "perl"),
        *(("-v", tool) for tool in ("make", "gcc", "g++", "cc", "c++", "clang", "clang++")),
        ("-vV", "rustc"),
        ("-VV", "python3"),
        ("-VV", "python"),
        ("version", "go"),
        *(("version", tool) for tool in ("docker", "helm", "openssl", "terraform")),
    )


def _judge_of(name: str) -> Callable[[Case], None]:
    if name in _JUDGES:
        return _JUDGES[name]
    if name.startswith("mkfs"):
        return shell_system.judge_critical
    if name.rstrip("0123456789.") in INTERPRETERS:
        return shell_code.judge_interpreter
    return shell_code.judge_other


def _judge_text(case: Case) -> None:
    """Judges a program whose operands are no files: nothing comes of them."""


def _judge_lister(case: Case) -> None:
    """Judges a program that shows names and dates of files, and no more of secret ones."""
    inside = str(case.ground.main_checkout)
    args = []
    for word in case.args:
        spots = [case.spot(word.text, folder).given for folder in case.call.folders]
        is_name = not word.text.startswith("-") and names_secret(word.text)
        is_plain = is_name and all(is_within(s, inside) for s in spots)
        is_plain |= all(is_within(spot, "/dev") for spot in spots)
        args.append(literal(".") if is_plain else word)
    _judge_reader(replace(case, args=tuple(args)))


def _judge_reader(case: Case) -> None:
    judge_by_spec(case)
    if case.name in ("less", "more", "most"):
        shell_system.judge_pager(case)
    if case.name == "man" and any("/" in w.text for w in case.args if w.text[:1] != "-"):
        case.hides("shows a page that lies in no system folder")
    if case.name in ("grep", "egrep", "fgrep", "rg", "ag", "ack"):
        shell_find.judge_search(case)


def _effect(spec: Spec, option: str) -> Effect | None:
    if option in spec.hazards:
        return spec.hazards[option]
    if option.startswith("--") and len(option) > 2 and option not in spec.values:
        return next((e for name, e in spec.hazards.items() if name.startswith(option)), None)
    return None


def _take_effect(case: Case, option: str, value: Word | None, effect: Effect | None) -> None:
    match effect:
        case Effect.READS if value is not None:
            case.reads(value)
        case Effect.WRITES if value is not None:
            case.writes(value)
        case Effect.WRITES | Effect.RUNS:
            case.hides(f"gives {case.name} the option {option!r}, which runs or writes something")
        case Effect.SYSTEM:
            case.critical("bash:system", f"changes the machine with {case.name} {option}")
        case _:
            pass


def _take_operands(case: Case, spec: Spec, options: Options, *, changes: bool) -> None:
    operands = options.operands
    if spec.texts and not options.has(*spec.texts_given_by):
        operands = operands[spec.texts :]
    if spec.writes_from is not None:
        shell_files.warn_of_output(case, operands)
        case.reads_each(operands[: spec.writes_from])
        case.writes_each(word for word in operands[spec.writes_from :] if word.text != "-")
    elif spec.operands is Effect.WRITES:
        _write_operands(case, options)
    elif spec.operands is Effect.DELETES:
        case.runs("deletes files", "bash:rm")
        case.deletes_each(operands)
    elif spec.operands is Effect.SYSTEM and operands:
        case.critical("bash:system", f"changes the machine with {case.name}")
    elif changes and spec.operands is not Effect.CHANGES:
        case.writes_each(operands)
    elif spec.operands is not Effect.TEXT:
        case.reads_each(operands)


def _write_operands(case: Case, options: Options) -> None:
    is_packer = case.name in PACKERS
    if is_packer and options.surely_has(*_TO_OUTPUT):
        case.reads_each(options.operands)
    else:
        case.writes_each(w for w in options.operands if w.text != "-" or not is_packer)


_FAMILIES: tuple[tuple[Callable[[Case], None], frozenset[str]], ...] = (
    (judge_git, frozenset({"git"})),
    (_judge_text, TEXT_ONLY),
    (_judge_lister, frozenset({"ls", "stat", "du", "eza", "exa", "lsd"})),
    (_judge_reader, frozenset(READERS) | frozenset(CHECKED)),
    (judge_by_spec, frozenset(WRITERS) | frozenset(DELETERS)),
    (shell_files.judge_rm, frozenset({"rm"})),
    (shell_files.judge_shred, frozenset({"shred"})),
    (shell_files.judge_copy, frozenset({"cp", "install"})),
    (shell_files.judge_move, frozenset({"mv"})),
    (shell_files.judge_link, frozenset({"ln", "link"})),
    (shell_files.judge_mode, frozenset({"chmod", "chown", "chgrp"})),
    (shell_files.judge_dd, frozenset({"dd"})),
    (shell_files.judge_patch, frozenset({"patch"})),
    (shell_files.judge_mktemp, frozenset({"mktemp"})),
    (shell_files.judge_xxd, frozenset({"xxd"})),
    (shell_archives.judge_tar, frozenset({"tar", "gtar", "bsdtar"})),
    (shell_archives.judge_zip, frozenset({"zip"})),
    (shell_archives.judge_unzip, frozenset({"unzip"})),
    (shell_text.judge_sed, frozenset({"sed", "gsed"})),
    (shell_text.judge_awk, frozenset({"awk", "gawk", "mawk", "nawk"})),
    (shell_text.judge_jq, frozenset({"jq", "gojq"})),
    (shell_find.judge_find, frozenset({"find", "gfind"})),
    (shell_find.judge_xargs, frozenset({"xargs"})),
    (shell_wrap.judge_wrapper, shell_wrap.HARMLESS_WRAPPERS),
    (shell_code.judge_evaluation, frozenset({"eval", "source", ".", "trap"})),
    (shell_code.judge_shell, SHELLS),
    (shell_wrap.judge_runner, shell_wrap.RUNNERS),
    (shell_system.judge_critical, SYSTEM),
    (shell_system.judge_leak, LEAKERS),
    (shell_system.judge_state, SHELL_STATE),
    (shell_system.judge_kill, frozenset({"kill"})),
    (shell_system.judge_kill_by_name, frozenset({"pkill", "killall", "skill"})),
    (shell_system.judge_ps, frozenset({"ps"})),
    (shell_system.judge_date, frozenset({"date"})),
    (shell_system.judge_set, frozenset({"set"})),
    (shell_system.judge_shopt, frozenset({"shopt"})),
    (shell_system.judge_read, frozenset({"read"})),
    (shell_system.judge_test, frozenset({"test"})),
    (shell_system.judge_printf, frozenset({"printf"})),
    (shell_system.judge_service, frozenset({"systemctl", "service"})),
    (shell_system.judge_addresses, frozenset({"ip", "ifconfig", "route"})),
    (shell_system.judge_listing, frozenset({"mount", "crontab"})),
    (shell_system.judge_sysctl, frozenset({"sysctl"})),
    (shell_system.judge_getent, frozenset({"getent"})),
    (shell_system.judge_docker, names("docker podman nerdctl docker-compose podman-compose")),
    (shell_system.judge_download, DOWNLOADERS),
    (shell_rsync.judge_rsync, frozenset({"rsync"})),
    (shell_system.judge_network, NETWORK),
    (judge_openssl, frozenset({"openssl"})),
    (judge_package_manager, PROGRAMS),
)
"""Who judges which programs; the first that owns the name does."""
_JUDGES: Mapping[str, Callable[[Case], None]] = {
    name: judge for judge, owned in reversed(_FAMILIES) for name in owned
}

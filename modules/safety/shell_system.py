"""Judges programs that look at or change the machine: processes, services, containers; pure."""

import re
from itertools import pairwise
from socket import inet_aton, inet_ntoa

from modules.safety.path_risk import is_within
from modules.safety.shell_case import Case
from modules.safety.shell_looks import only_looks
from modules.safety.shell_options import read_options
from modules.safety.shell_pipes import loose_paths
from modules.safety.shell_tables import SHELLS, names
from modules.safety.shell_wipe import is_system_path

SYSTEM = "bash:system"

_EVERYONE = frozenset({"-1", "0", "-0", "1", "-SIGKILL"})
_OWN = re.compile(r"crewyard|claude|codex|\.?\*?|main\.py.*")
_LEAD = re.compile(r"\$\(.*(?:crewyard|lead|main\.py)")
_NUMERIC_HOST = re.compile(r"(?:0x[0-9a-f]+|[0-9]+)(?:\.(?:0x[0-9a-f]+|[0-9]+)){0,3}")
_PS_VALUES = names(
    "-o -p -u -U -C -g -G -t -q -O --format --pid --ppid --sort --user --group --tty"
)
_DATE_VALUES = names("-d -f -r --date --file --reference")
_DATE_FORMAT = re.compile(r"-I(?:date|hours|minutes|seconds|ns)?|--(?:iso-8601|rfc-3339)(?:=\w+)?")
_SHELL_SWITCHES = re.compile(r"[-+][eEuxvnhBCfk]+|[-+]o|--")
_SHELL_OPTIONS = names(
    "pipefail errexit nounset xtrace noclobber verbose noglob errtrace functrace"
)
_SHOPTS = names("-s -u -q -p globstar nullglob failglob nocaseglob nocasematch lastpipe")
_READ_OPTIONS = re.compile(r"-[rse]+|-[apndtNu]|-r?[dtnNu].*|--")
_SHOWS = names("show list ls lst sh")
_SERVICE_LOOKS = names(
    "status is-active is-enabled is-failed list-units list-unit-files list-timers list-sockets show"
    " cat get-default help"
)
_SERVICE_OPTIONS = names("--user --system --no-pager -a --all -l --full -q --quiet --failed")
_DOCKER_LOOKS = names("ps images version info logs port top stats history diff")
_DOCKER_GROUPS = names("container image volume network context")
_COMPOSE_LOOKS = names("ps ls images version logs port top stats")
_DOCKER_WIDE = re.compile(
    r"--privileged(?:=true)?|--pid(?:=host)?|--userns=host|--ipc=host|--uts=host|--cap-add.*"
    r"|--device.*|--security-opt.*|--cgroupns=host|--volumes-from.*"
)
_PAGER_MOVE = re.compile(r"\+(?:[0-9]*[gGF]?|/[\w .:-]*)")
_METADATA = re.compile(
    r".*(?:169\.254\.169\.254|metadata\.google\.internal|100\.100\.100\.200"
    r"|fd00:ec2::254).*",
    re.IGNORECASE,
)
_NET_SHELL = re.compile(r"-[a-z0-9]*[ec](?:[/.].*)?|--(?:sh-|lua-)?exec(?:=.*)?")
_RAW_NETWORK = names("nc ncat netcat socat telnet")


def judge_kill(case: Case) -> None:
    """Judges `kill`."""
    targets = list(case.args)
    is_signal = targets and re.fullmatch(r"-[A-Za-z0-9]+", targets[0].text)
    signal = targets.pop(0).text if is_signal else ""
    if signal in ("-l", "-L"):
        return
    if signal in ("-s", "-n") and targets:
        targets.pop(0)
    targets = [target for target in targets if target.text != "--"]
    _judge_own_parent(case)
    everyone = any(value in _EVERYONE for target in targets for value in target.values())
    if everyone or (signal == "-1" and not targets):
        case.critical(SYSTEM, "signals every process")
    if signal != "-0" or not all(target.text.isdigit() for target in targets):
        case.runs("signals a process", "bash:kill")


def judge_kill_by_name(case: Case) -> None:
    """Judges `pkill` and `killall`."""
    options = read_options(case.args, names("-s -n -g -G -P -t -F --signal --parent --pidfile"))
    _judge_own_parent(case)
    if options.has("-u", "-U", "--euid", "--uid", "--user", "-g", "--pgroup", "-v", "--inverse"):
        case.critical(SYSTEM, "signals every process of a user or a group")
    elif any(_OWN.fullmatch(value) for word in options.operands for value in word.values()):
        case.critical(SYSTEM, "signals this program or every process")
    else:
        case.runs("signals processes", "bash:kill")


def _judge_own_parent(case: Case) -> None:
    if any("PPID" in word.raw or _LEAD.search(word.raw) for word in case.args):
        case.critical(SYSTEM, "signals the program that runs the agent")


def judge_ps(case: Case) -> None:
    """Judges `ps`: a bare `e` among its options shows environments."""
    options = read_options(case.args, _PS_VALUES)
    before = " "
    for word in options.operands:
        is_letters = re.fullmatch(r"[a-zA-Z]+", word.text) is not None
        if word.may_be_option or (is_letters and "e" in word.text and before[-1:] not in "oOk"):
            case.runs("shows the environment of other processes", "bash:env")
        before = word.text or " "
    if options.has("-E"):
        case.runs("shows the environment of other processes", "bash:env")


def judge_date(case: Case) -> None:
    """Judges `date`."""
    args = [word for word in case.args if not _DATE_FORMAT.fullmatch(word.text)]
    options = read_options(args, _DATE_VALUES)
    is_set = options.has("-s") or any("--set".startswith(n) for n, _ in options.flags if len(n) > 3)
    if is_set or any(word.text[:1].isdigit() for word in options.operands):
        case.critical(SYSTEM, "sets the clock of the machine")
    for word in options.operands:
        if not word.text.startswith("+") and not word.text[:1].isdigit():
            case.runs(f"{word.raw!r} may set the clock")
    case.reads_each(options.values("-f", "-r", "--file", "--reference"))


def judge_set(case: Case) -> None:
    """Judges `set`: it may show every variable, or change how the shell reads."""
    words = [word.text for word in case.args]
    if not words:
        case.runs("shows every variable", "bash:env")
    for before, word in pairwise(["", *words]):
        if before in ("-o", "+o") or re.fullmatch(r"[-+][eux]*o", before):
            if word not in _SHELL_OPTIONS:
                case.runs("changes how the shell reads", "bash:env")
        elif not (_SHELL_SWITCHES.fullmatch(word) or re.fullmatch(r"[-+][eux]*o", word)):
            case.runs("changes the shell's own state", "bash:env")


def judge_shopt(case: Case) -> None:
    """Judges `shopt`."""
    if not all(word.text in _SHOPTS for word in case.args):
        case.runs("changes how the shell reads", "bash:env")


def judge_read(case: Case) -> None:
    """Judges `read`: a name with an index is evaluated."""
    for word in case.args:
        text = word.text
        is_option = _READ_OPTIONS.fullmatch(text) is not None
        if not (
            is_option or re.fullmatch(r"[a-z_][a-z0-9_]*|[0-9.]+|", text) or word.raw[:1] in "'\""
        ):
            case.runs("reads into a name that may be evaluated", "bash:env")
        elif word.raw[:1] in "'\"" and re.search(r"\w\[", text):
            case.runs("reads into a name that is evaluated")


def judge_test(case: Case) -> None:
    """Judges `test`."""
    is_open = len(case.args) == 2 and case.args[0].may_be_option
    if is_open or any(w.text in ("-v", "-R") or w.is_split for w in case.args):
        case.runs("may evaluate an index, which can run commands")


def judge_printf(case: Case) -> None:
    """Judges `printf`."""
    if case.args and (case.args[0].text.startswith("-v") or case.args[0].may_be_option):
        case.runs("may set a variable by a name that is evaluated")


def judge_service(case: Case) -> None:
    """Judges `systemctl` and `service`."""
    words = [word.text for word in case.args]
    while words and (words[0] in _SERVICE_OPTIONS or re.fullmatch(r"--\w[\w-]*=\S+", words[0])):
        words.pop(0)
    action = words[1:2] if case.name == "service" else words[:1]
    if action and action[0] not in _SERVICE_LOOKS:
        case.critical(SYSTEM, "changes services of the machine")


def judge_addresses(case: Case) -> None:
    """Judges `ip`, `ifconfig` and `route`."""
    words = [word.text for word in case.args if not word.text.startswith("-")]
    is_look = len(words) < 2 or words[1] in _SHOWS
    is_look &= not any(w.text.startswith(("-b", "--b")) and "br" not in w.text for w in case.args)
    if case.name == "ip" and is_look and words[:1] != ["netns"]:
        return
    if case.name != "ip" and len(words) < 2:
        return
    case.critical(SYSTEM, "changes the network of the machine")


def judge_listing(case: Case) -> None:
    """Judges `mount` and `crontab`, which also list."""
    words = [word.text for word in case.args]
    if case.name == "mount" and (not words or words == ["-l"]):
        return
    if words == ["-l"]:
        case.runs("shows what is run at set times")
        return
    case.critical(SYSTEM, f"changes the machine with {case.name}")


def judge_sysctl(case: Case) -> None:
    """Judges `sysctl`."""
    options = read_options(case.args, names("-p --load"))
    if options.has("-w", "--write", "-p", "--load", "--system") or any(
        "=" in word.text or word.may_be_option for word in options.operands
    ):
        case.critical(SYSTEM, "changes the kernel's settings")


def judge_getent(case: Case) -> None:
    """Judges `getent`."""
    if any(word.text in ("shadow", "gshadow") for word in case.args):
        case.denies("bash:secret", "the system's passwords are nobody's to read")


def judge_docker(case: Case) -> None:
    """Judges container engines: whoever commands one commands the machine."""
    words = [word.text for word in case.args]
    if case.name.endswith("-compose"):
        words.insert(0, "compose")
    action = words[0] if words else ""
    if action in _DOCKER_GROUPS and words[1:2] in (["ls"], ["list"]):
        return
    if action == "compose" and words[1:2] and words[1] in _COMPOSE_LOOKS:
        return
    if action in _DOCKER_LOOKS:
        return
    case.runs(f"commands {case.name}", "bash:net")
    wide = {word for word in words if _DOCKER_WIDE.fullmatch(word)}
    case.reads_each(loose_paths(word for word in case.args if word.text not in wide))
    if wide or any(_mounts_host(case, word) for word in words):
        case.critical(SYSTEM, "gives a container the whole machine")


def _mounts_host(case: Case, text: str) -> bool:
    for part in re.split(r"[,=]", text):
        source = part.split(":")[0]
        if not source.startswith(("/", "~")) or (
            ":" not in part and "src" not in text and "source" not in text
        ):
            continue
        home = str(case.ground.home)
        path = home + source[1:] if source.startswith("~") else source
        if (
            is_system_path(path, case.ground)
            or is_within(home, path)
            or path.endswith("docker.sock")
        ):
            return True
    return False


def judge_network(case: Case) -> None:
    """Judges programs that talk to other machines."""
    case.runs("talks to other machines", "bash:net")
    case.reads_each(loose_paths(case.args))
    if case.name in ("rsync", "scp") and case.args and ":" not in case.args[-1].text:
        case.writes(case.args[-1])
    if any(_METADATA.fullmatch(word.text) or _is_metadata(word.text) for word in case.args):
        case.denies("bash:private-address", "a machine's metadata service is nobody's to read")
    if case.name in ("nc", "ncat", "netcat") and any(
        _NET_SHELL.fullmatch(word.text) for word in case.args
    ):
        case.critical("bash:remote-code", "hands a program to the network")
    if case.name == "socat" and any(
        re.match(r"(?i)(?:exec|system|pty|shell)\b", word.text) for word in case.args
    ):
        case.critical("bash:remote-code", "hands a program to the network")
    if case.name in _RAW_NETWORK and any(
        case.script.calls[place].words and case.script.calls[place].words[0].text in SHELLS
        for place in case.call.upstream
    ):
        case.critical("bash:remote-code", "hands a shell to the network")


def _is_metadata(text: str) -> bool:
    """True for an address that means a metadata service in numbers written unusually."""
    authority = text.rpartition("://")[2].split("/")[0].split("?")[0].rpartition("@")[2]
    host = authority.partition(":")[0].rstrip(".").lower()
    if not _NUMERIC_HOST.fullmatch(host):
        return False
    try:
        plain = inet_ntoa(inet_aton(host))
    except OSError:
        return False
    return _METADATA.fullmatch(plain) is not None


def judge_download(case: Case) -> None:
    """Judges `curl` and `wget`."""
    judge_network(case)
    values = names(
        "-o -O -K -d -F -T -H -X -u -A -e -b -c -D -P -a -x -m --output --header --data"
        " --form --upload-file --output-document --directory-prefix --request --user"
        " --cookie-jar --dump-header --output-file --append-output --trace --stderr --output-dir"
    )
    options = read_options(case.args, values)
    written = options.values("-o", "--output", "-c", "--cookie-jar", "-D", "--dump-header")
    written += options.values("--output-dir", "--trace", "--stderr")
    if case.name != "curl":
        written = options.values(
            "-O",
            "-P",
            "-o",
            "-a",
            "--output-document",
            "--directory-prefix",
            "--output-file",
            "--append-output",
        )
    case.writes_each(word for word in written if word.text not in ("-", ""))


def judge_critical(case: Case) -> None:
    """Judges programs that change the machine or who may do what."""
    if only_looks(case.name, [word.text for word in case.args]):
        return
    case.critical(SYSTEM, f"changes the machine or its rights with {case.name}")


def judge_leak(case: Case) -> None:
    """Judges programs that show the environment."""
    case.runs("shows variables of the environment", "bash:env")


def judge_state(case: Case) -> None:
    """Judges builtins that change what the shell runs later."""
    case.runs(f"changes the shell's own state with {case.name}", "bash:env")
    if case.name == "alias":
        case.findings.nested.extend(word.text.partition("=")[2] for word in case.args)


def judge_pager(case: Case) -> None:
    """Judges what a pager's operands may start: `+` begins a command of its own."""
    commands = [word.text for word in case.args if word.text.startswith("+")]
    if not all(_PAGER_MOVE.fullmatch(text) for text in commands):
        case.hides("gives the pager a command")

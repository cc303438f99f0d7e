"""The environment of processes we start: it begins empty and gets a short list of names.

1. Passed on: the locale, the PATH, who the person is, where a toolchain lies in their home, and
   names the person has configured.
2. Never passed on, configured or not: what looks like a key, and what makes programs load code.
3. git is told to ask nobody, page nothing, sign nothing, tidy nothing up and begin no new logs of
   branches; every `GIT_*` that was inherited is dropped, for it may point at another repository.
4. A process in a jail has a private home, so it finds no credentials there.
5. Where a jail's way out is a proxy, it is named, but not for the jail's own loopback.
"""

import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from modules.records.settings import Network
from modules.safety import egress_relay
from modules.safety.jail import private_home, private_programs

_PASSED_ON = frozenset(
    ("PATH", "HOME", "LANG", "LANGUAGE", "TZ", "TERM", "USER", "LOGNAME", "SHELL", "TMPDIR", "CI")
) | {"NO_COLOR", "JAVA_HOME"}
_KEY = re.compile(
    r"KEY|TOKEN|SECRET|PASSW|CREDENTIAL|_PAT$|^(AWS|ANTHROPIC|OPENAI|AZURE|GPG|SSH)_|AUTH(?!OR)",
    re.IGNORECASE,
)
_CODE = re.compile(
    r"^(LD_|DYLD_|BASH_|PERL5|RUBYOPT|RUBYLIB|NODE_OPTIONS|NODE_PATH|GIT_|PROMPT_COMMAND|JAVA_TOOL_)"
    r"|^PYTHON(PATH|STARTUP|HOME|INSPECT|BREAKPOINT|WARNINGS|USERBASE|EXECUTABLE)$"
    r"|^(ENV|IFS|PS4|EDITOR|VISUAL|BROWSER|_JAVA_OPTIONS|LESSOPEN|LESSCLOSE)$|PAGER$|ASKPASS$"
)
# Programs of these toolchains look for themselves in the person's home.
_TOOLCHAINS = {
    "ASDF_DATA_DIR": ".asdf",
    "CARGO_HOME": ".cargo",
    "GOPATH": "go",
    "NVM_DIR": ".nvm",
    "PYENV_ROOT": ".pyenv",
    "RBENV_ROOT": ".rbenv",
    "RUSTUP_HOME": ".rustup",
    "SDKMAN_DIR": ".sdkman",
    "VOLTA_HOME": ".volta",
}
_GIT = {
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_EDITOR": "true",
    "GIT_SEQUENCE_EDITOR": "true",
    "GIT_MERGE_AUTOEDIT": "no",
    "GIT_PAGER": "cat",
    "PAGER": "cat",
}
_PROXY = f"http://127.0.0.1:{egress_relay.PORT}"
_PROXIED = {
    **dict.fromkeys(("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"), _PROXY),
    **dict.fromkeys(("no_proxy", "NO_PROXY"), "localhost,127.0.0.1,::1"),
}
_GIT_SETTINGS = {
    "gc.auto": "0",
    "maintenance.auto": "false",
    "core.fsmonitor": "false",
    "core.logAllRefUpdates": "false",
    "commit.gpgsign": "false",
    "tag.gpgsign": "false",
}


def looks_like_key(name: str) -> bool:
    """True for the name of an environment variable that may hold a secret."""
    return _KEY.search(name) is not None


def is_never_passed(name: str) -> bool:
    """True for a variable no child process gets, whoever asks for it."""
    return looks_like_key(name) or _CODE.search(name) is not None


def plain_environment(variables: Mapping[str, str], extra: Iterable[str] = ()) -> dict[str, str]:
    """Returns what a process outside of any jail gets: the short list and the names in `extra`."""
    wanted = _PASSED_ON | {name for name in extra if not is_never_passed(name)}
    return {
        name: value for name, value in variables.items() if name in wanted or name.startswith("LC_")
    }


def child_environment(
    variables: Mapping[str, str],
    extra: Iterable[str] = (),
    *,
    temporary: Path,
    network: Network = "off",
) -> dict[str, str]:
    """Returns what an agent's process gets; `temporary` is its own folder (`prepare_jail`)."""
    environment = {**_toolchains(variables), **plain_environment(variables, extra), **_GIT}
    environment["HOME"] = str(private_home(temporary))
    environment["TMPDIR"] = str(temporary)
    environment["PATH"] = f"{private_programs(temporary)}:{variables.get('PATH', '/usr/bin:/bin')}"
    if network == "proxy":
        environment |= _PROXIED
    environment["GIT_CONFIG_COUNT"] = str(len(_GIT_SETTINGS))
    for number, (key, value) in enumerate(_GIT_SETTINGS.items()):
        environment[f"GIT_CONFIG_KEY_{number}"] = key
        environment[f"GIT_CONFIG_VALUE_{number}"] = value
    return environment


def _toolchains(variables: Mapping[str, str]) -> dict[str, str]:
    home = variables.get("HOME", "")
    found = {name: variables.get(name, f"{home}/{path}") for name, path in _TOOLCHAINS.items()}
    return {name: path for name, path in found.items() if home and Path(path).is_dir()}

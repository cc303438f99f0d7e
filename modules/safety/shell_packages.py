"""Judges package managers and build tools: what they install, run, or only list; pure."""

import re
from collections.abc import Mapping

from modules.safety.shell_agents import judge_agent
from modules.safety.shell_case import Case
from modules.safety.shell_code import judge_other
from modules.safety.shell_tables import names

PACKAGES = "bash:pkg"

_LISTS: Mapping[str, frozenset[str]] = {
    "pip": names("list show freeze check debug inspect"),
    "npm": names("ls list ll la why explain root prefix bin fund pkg:get"),
    "yarn": names("why list"),
    "pnpm": names("ls list ll la why root bin"),
    "gem": names("list env which contents specification"),
    "apt": names("list show policy depends rdepends"),
    "apt-get": frozenset(),
    "apt-cache": names("search show policy depends rdepends pkgnames showpkg stats"),
    "dpkg": names("-l -L -s -S -p --list --listfiles --status --search --print-avail"),
    "brew": names("list ls leaves deps uses"),
    "go": names("version env doc"),
    "cargo": names("version help"),
    "rustup": names("show which"),
    "conda": names("list info"),
    "poetry": names("version"),
    "uv": names("version"),
}
_INSTALLS: Mapping[str, frozenset[str]] = {
    "pip": names("install uninstall download wheel index cache lock"),
    "npm": names(
        "install i in ins add ci update up upgrade uninstall remove rm un unlink link ln dedupe"
        " audit prune publish pack login logout adduser token deprecate dist-tag owner access"
        " outdated view info show search init create set config cache install-test it rebuild"
    ),
    "yarn": names(
        "install add remove upgrade up link unlink publish global create init audit outdated info"
        " import dlx set config cache plugin"
    ),
    "pnpm": names(
        "install i add remove rm update up upgrade link publish create init audit outdated import"
        " dlx store config fetch deploy"
    ),
    "bun": names("install i add remove rm update link unlink create init pm upgrade"),
    "gem": names("install uninstall update push fetch build sources cleanup"),
    "bundle": names("install update add remove init outdated"),
    "cargo": names(
        "install uninstall add remove update fetch publish search login owner yank vendor"
    ),
    "go": names("get install mod work clean"),
    "uv": names(
        "add remove sync lock pip tool python venv init self cache publish build export tree"
    ),
    "poetry": names("add remove install update lock publish self config init env source"),
    "pipx": names("install uninstall upgrade inject list reinstall ensurepath"),
    "composer": names("install require remove update global create-project dump-autoload"),
    "rustup": names("update install default toolchain target component self override"),
    "dotnet": names("add remove restore tool nuget workload new"),
}
_ONLY_INSTALL = names(
    "apt apt-get aptitude dpkg rpm dnf yum microdnf zypper pacman yay apk brew port snap flatpak"
    " emerge nix-env nix nix-shell conda mamba micromamba easy_install pear pecl cpan cpanm"
    " luarocks opam stack cabal nvm fnm volta asdf mise sdk choco winget scoop pdm pipenv hatch rye"
    " pixi corepack vcpkg conan"
)
_NPM_SETTINGS = {("config", "get"), ("config", "list"), ("config", "ls")}
_BARE_INSTALL = names("yarn pnpm composer bundle")
_LIST_OPTION = re.compile(
    r"--(?:depth|format|json|all|prod|dev|long|local|global|user|files|parseable|installed|verbose"
    r"|quiet|upgradable|not-required|cask|formula|versions|changed)(?:=[\w./-]+)?"
    r"|-[aglqvfm1]|-json"
)
_SAME = {"pip3": "pip", "bunx": "bun", "gem3": "gem"}

PROGRAMS = (
    names("pip pip3 npm yarn pnpm bun gem bundle cargo go uv poetry pipx composer rustup dotnet")
    | _ONLY_INSTALL
    | {"apt-cache"}
)


def judge_package_manager(case: Case) -> None:
    """Judges a program that installs packages or runs what they bring."""
    name = _SAME.get(case.name, case.name)
    texts = [word.text for word in case.args]
    action = next((text for text in texts if not text.startswith("-")), "")
    judge_agent(case)
    if name == "npm" and tuple(texts[:2]) in _NPM_SETTINGS:
        _judge_list(case, texts[2:])
    elif texts and texts[0] in _LISTS.get(name, frozenset()):
        _judge_list(case, texts[1:])
    elif action in _INSTALLS.get(name, frozenset()) or name in _ONLY_INSTALL:
        case.runs("installs or changes packages, which run code", PACKAGES)
    elif not action and name in _BARE_INSTALL:
        case.runs("installs packages, which run code", PACKAGES)
    else:
        judge_other(case)


def _judge_list(case: Case, texts: list[str]) -> None:
    if any(text.startswith("-") and not _LIST_OPTION.fullmatch(text) for text in texts):
        case.runs(f"gives {case.name} an option that isn't known")
    for word in case.args:
        if word.may_be_option:
            case.runs(f"{word.raw!r} may turn into an option")

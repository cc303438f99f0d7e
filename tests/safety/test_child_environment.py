import subprocess
from pathlib import Path

import pytest

from modules.safety.child_environment import (
    child_environment,
    is_never_passed,
    looks_like_key,
    plain_environment,
)

PERSON = {
    "PATH": "/usr/bin",
    "HOME": "/home/ada",
    "LANG": "C.UTF-8",
    "LC_TIME": "de_DE.UTF-8",
    "TERM": "xterm",
    "USER": "ada",
    "CI": "1",
    "MY_SETTING": "x",
    "ANTHROPIC_API_KEY": "k",
    "GITHUB_TOKEN": "t",
    "SSH_AUTH_SOCK": "/run/agent",
    "GIT_DIR": "/elsewhere/.git",
    "GIT_INDEX_FILE": "/elsewhere/index",
    "LD_PRELOAD": "/evil.so",
    "PYTHONPATH": "/evil",
}


def test_plain_environment_is_the_short_list_and_nothing_else() -> None:
    environment = plain_environment(PERSON)

    assert environment == {
        "PATH": "/usr/bin",
        "HOME": "/home/ada",
        "LANG": "C.UTF-8",
        "LC_TIME": "de_DE.UTF-8",
        "TERM": "xterm",
        "USER": "ada",
        "CI": "1",
    }


def test_configured_name_is_passed_on_but_never_a_key_or_code() -> None:
    wanted = ("MY_SETTING", "ANTHROPIC_API_KEY", "GIT_DIR", "LD_PRELOAD", "NOT_SET")

    environment = plain_environment(PERSON, wanted)

    assert set(environment) - set(plain_environment(PERSON)) == {"MY_SETTING"}


@pytest.mark.parametrize(
    "name",
    [
        "OPENAI_API_KEY",
        "AWS_ACCESS_KEY_ID",
        "AWS_PROFILE",
        "GITHUB_TOKEN",
        "NPM_TOKEN_X",
        "CLIENT_SECRET",
        "DB_PASSWORD",
        "PGPASSWORD",
        "GOOGLE_APPLICATION_CREDENTIALS",
        "SSH_AUTH_SOCK",
        "GPG_AGENT_INFO",
        "ANTHROPIC_BASE_URL",
        "my_api_key",
    ],
)
def test_name_that_looks_like_a_key_is_known(name: str) -> None:
    assert looks_like_key(name)
    assert is_never_passed(name)


@pytest.mark.parametrize(
    "name",
    [
        "LD_LIBRARY_PATH",
        "DYLD_INSERT_LIBRARIES",
        "BASH_ENV",
        "ENV",
        "PYTHONPATH",
        "PYTHONSTARTUP",
        "NODE_OPTIONS",
        "PERL5LIB",
        "RUBYOPT",
        "GIT_SSH_COMMAND",
        "GIT_EXTERNAL_DIFF",
        "MANPAGER",
        "EDITOR",
        "VISUAL",
        "SUDO_ASKPASS",
        "PROMPT_COMMAND",
    ],
)
def test_name_that_loads_code_is_never_passed(name: str) -> None:
    assert is_never_passed(name)


@pytest.mark.parametrize(
    "name", ["PATH", "HOME", "DATABASE_URL", "NODE_ENV", "GIT", "DEBUG", "PYTHONUNBUFFERED"]
)
def test_ordinary_name_may_be_configured(name: str) -> None:
    assert not is_never_passed(name)


def test_child_environment_has_a_home_and_temporary_folder_of_its_own(tmp_path: Path) -> None:
    environment = child_environment(PERSON, temporary=tmp_path)

    assert environment["HOME"] == str(tmp_path / "home")
    assert environment["TMPDIR"] == str(tmp_path)
    assert environment["PATH"] == f"{tmp_path}/bin:/usr/bin"
    assert not {"GIT_DIR", "GIT_INDEX_FILE", "ANTHROPIC_API_KEY"} & set(environment)


def test_child_environment_finds_toolchains_in_the_persons_home(tmp_path: Path) -> None:
    home = tmp_path / "home"
    (home / ".rustup").mkdir(parents=True)

    environment = child_environment(
        {"HOME": str(home), "GOPATH": "/nowhere"}, temporary=tmp_path / "tmp"
    )

    assert environment["RUSTUP_HOME"] == str(home / ".rustup")
    assert not {"GOPATH", "CARGO_HOME"} & set(environment)


def test_inherited_git_dir_moves_git_elsewhere_and_the_child_environment_not(
    tmp_path: Path,
) -> None:
    here, elsewhere = tmp_path / "here", tmp_path / "elsewhere"
    for folder in (here, elsewhere):
        subprocess.run(["git", "init", "-q", str(folder)], check=True, timeout=30)
    inherited = {
        "PATH": "/usr/bin:/bin",
        "HOME": str(tmp_path),
        "GIT_DIR": str(elsewhere / ".git"),
        "GIT_WORK_TREE": str(elsewhere),
        "GIT_INDEX_FILE": str(elsewhere / ".git/other-index"),
    }

    def git_dir(environment: dict[str, str]) -> str:
        done = subprocess.run(
            ["git", "-C", str(here), "rev-parse", "--absolute-git-dir"],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
            timeout=30,
        )
        return done.stdout.strip()

    assert git_dir(inherited) == str(elsewhere / ".git")
    assert git_dir(child_environment(inherited, temporary=tmp_path)) == str(here / ".git")
    assert git_dir(plain_environment(inherited)) == str(here / ".git")

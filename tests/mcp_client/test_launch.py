from pathlib import Path

from modules.mcp_client.launch import Launch
from modules.mcp_client.values import ServerEntry


def test_environment_holds_the_short_list_and_the_entrys_own_names_alone() -> None:
    variables = {
        "PATH": "/bin",
        "LC_ALL": "C",
        "ANTHROPIC_API_KEY": "k1",
        "OPENAI_API_KEY": "k2",
        "GITHUB_TOKEN": "k3",
        "SSH_AUTH_SOCK": "/s",
        "LD_PRELOAD": "/x.so",
        "PYTHONPATH": "/p",
        "NODE_OPTIONS": "--require x",
        "CREWYARD_HOME": "/c",
    }
    launch = Launch(folder=Path("/repo"), variables=variables)
    entry = ServerEntry(name="s", command="s", env={"GITHUB_TOKEN": "mine", "PATH": "/my/bin"})

    assert launch.environment(entry) == {
        "PATH": "/my/bin",
        "LC_ALL": "C",
        "GITHUB_TOKEN": "mine",
    }


def test_argv_goes_through_the_sandbox_whole() -> None:
    launch = Launch(
        folder=Path("/repo"), variables={}, wrap=lambda entry, argv: ("bwrap", entry.name, *argv)
    )
    entry = ServerEntry(name="n", command="s", args=("--a b", "$(x)"))

    assert launch.argv(entry) == ("bwrap", "n", "s", "--a b", "$(x)")


def test_what_the_sandbox_has_for_a_server_stands_over_the_persons_and_below_its_own() -> None:
    variables = {"HOME": "/home/ada", "PATH": "/bin", "TMPDIR": "/tmp"}
    own = {"HOME": "/jail/home", "TMPDIR": "/jail"}
    launch = Launch(folder=Path("/repo"), variables=variables, own=lambda _entry: own)
    entry = ServerEntry(name="n", command="s", env={"TMPDIR": "/mine"})

    assert launch.environment(entry) == {"HOME": "/jail/home", "PATH": "/bin", "TMPDIR": "/mine"}


def test_cwd_is_taken_from_the_repository() -> None:
    launch = Launch(folder=Path("/repo"), variables={})

    folders = [launch.cwd(ServerEntry(name="s", cwd=cwd)) for cwd in ("", "sub", "/abs")]

    assert folders == [Path("/repo"), Path("/repo/sub"), Path("/abs")]

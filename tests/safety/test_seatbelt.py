"""Tests of modules/safety/seatbelt.py, as text: there is no macOS here to try a profile on."""

from pathlib import Path

from msgspec.structs import replace

from modules.safety.jail import GitGround, JailSpec, SandboxKind
from modules.safety.sandbox import jailed_argv, kinds_of
from modules.safety.seatbelt import seatbelt_profile

GIT = Path("/r/.git")
SPEC = JailSpec(
    folder=Path("/r/.worktrees/one"),
    temporary=Path("/r/.team/tmp/one"),
    hidden=(Path("/r/.team"), Path("/h/.ssh"), Path("/r/.worktrees/one/a.pem")),
    readable=(Path("/h/.ssh/known"),),
    git=GitGround(common_dir=GIT, admin_dir=GIT / "worktrees/one", branch_ref="refs/heads/wt/one"),
)


def places(spec: JailSpec) -> list[str]:
    """Returns the lines about places."""
    return [line for line in seatbelt_profile(spec).splitlines() if "(subpath" in line]


def test_seatbelt_profile_when_places_lie_in_others_then_the_deeper_is_said_later() -> None:
    assert places(SPEC) == [
        '(deny file-read* file-write* (subpath "/r/.team"))',
        '(deny file-read* file-write* (subpath "/h/.ssh"))',
        '(allow file-read* (subpath "/h/.ssh/known"))',
        '(allow file-read* file-write* (subpath "/r/.worktrees/one"))',
        '(allow file-read* file-write* (subpath "/r/.git/objects"))',
        '(deny file-read* file-write* (subpath "/r/.worktrees/one/a.pem"))',
        '(allow file-read* file-write* (subpath "/r/.team/tmp/one"))',
        '(deny file-write* (subpath "/r/.worktrees/one/.git"))',
        '(allow file-read* file-write* (subpath "/r/.git/worktrees/one"))',
        '(deny file-write* (subpath "/r/.git/objects/pack"))',
        '(deny file-write* (subpath "/r/.git/objects/info"))',
        '(allow file-read* file-write* (subpath "/r/.git/refs/heads/wt"))',
        '(deny file-write* (subpath "/r/.git/worktrees/one/commondir"))',
        '(deny file-write* (subpath "/r/.git/worktrees/one/gitdir"))',
        '(deny file-write* (subpath "/r/.git/worktrees/one/config.worktree"))',
    ]


def test_seatbelt_profile_when_the_network_is_not_shared_then_it_is_shut() -> None:
    shut = {
        network: "(deny network*)" in seatbelt_profile(replace(SPEC, network=network))
        for network in ("off", "proxy", "shared")
    }

    assert shut == {"off": True, "proxy": True, "shared": False}


def test_seatbelt_profile_when_a_name_has_quotes_then_they_end_no_text() -> None:
    odd = JailSpec(folder=Path('/a "b\\c'), temporary=Path("/t"))

    assert '(allow file-read* file-write* (subpath "/a \\"b\\\\c"))' in places(odd)


def test_seatbelt_profile_when_parentheses_are_counted_then_they_match() -> None:
    profile = seatbelt_profile(SPEC)

    assert profile.replace("(fd/|", "fd/|").count("(") == profile.replace("ttys)", "ttys").count(
        ")"
    )


def test_jailed_argv_when_it_is_macos_then_seatbelt_runs_the_command(tmp_path: Path) -> None:
    spec = JailSpec(folder=tmp_path, temporary=tmp_path)

    argv = jailed_argv(["true"], spec, SandboxKind.SEATBELT)

    assert kinds_of("darwin") == (SandboxKind.SEATBELT,)
    assert SandboxKind.SEATBELT not in kinds_of("linux")
    assert (argv[:2], argv[-1]) == (["/usr/bin/sandbox-exec", "-p"], "true")
    assert argv[2] == seatbelt_profile(spec.resolved())

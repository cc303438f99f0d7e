import subprocess
from pathlib import Path

import pytest

from modules.safety.jail import GitGround, JailSpec, SandboxKind
from modules.safety.jail_setup import prepare_jail
from tests.safety.jail_ground import Nobody

SPEC_NAMES = ("lane", "git/worktrees/one", "git/objects", "outside")


@pytest.fixture
def spec(tmp_path: Path) -> JailSpec:
    for name in SPEC_NAMES:
        (tmp_path / name).mkdir(parents=True)
    git = GitGround(
        common_dir=tmp_path / "git",
        admin_dir=tmp_path / "git/worktrees/one",
        branch_ref="refs/heads/wt/one",
    )
    return JailSpec(folder=tmp_path / "lane", temporary=tmp_path / "tmp", git=git)


def test_home_and_git_folders_are_made_and_making_them_again_is_harmless(
    spec: JailSpec, tmp_path: Path
) -> None:
    for _ in range(2):
        prepare_jail(spec, SandboxKind.BWRAP, person=Nobody())

    assert (tmp_path / "tmp/home").stat().st_mode & 0o777 == 0o700
    for name in ("refs/heads/wt", "logs/refs/heads"):
        assert (tmp_path / "git" / name).is_dir()
    assert (tmp_path / "git/worktrees/one/config.worktree").read_bytes() == b""
    assert list((tmp_path / "git/objects").iterdir()) == []


def test_landlock_gets_folders_for_objects_and_a_git_of_its_own(
    spec: JailSpec, tmp_path: Path
) -> None:
    prepare_jail(spec, SandboxKind.LANDLOCK, person=Nobody())

    assert len(list((tmp_path / "git/objects").iterdir())) == 256
    assert (tmp_path / "tmp/bin/git").stat().st_mode & 0o777 == 0o755


def test_name_with_quotes_is_what_git_reads(spec: JailSpec, tmp_path: Path) -> None:
    name = 'Ada "the \\ first"; [core]\n\tpager = evil # é'

    prepare_jail(spec, SandboxKind.BWRAP, person=Nobody(name=name))

    def setting(key: str) -> str:
        done = subprocess.run(
            ["git", "config", "-f", str(tmp_path / "tmp/home/.gitconfig"), key],
            capture_output=True,
            text=True,
            check=False,
            timeout=30,
        )
        return done.stdout

    assert setting("user.name") == name.replace("\n", " ") + "\n"
    assert setting("core.pager") == ""


@pytest.mark.parametrize("name", ["home", "bin"])
def test_link_left_by_an_earlier_jail_is_not_written_through(
    spec: JailSpec, tmp_path: Path, name: str
) -> None:
    (tmp_path / "tmp").mkdir()
    (tmp_path / "tmp" / name).symlink_to(tmp_path / "outside")
    (tmp_path / "tmp" / name / "plain").write_text("goes through")
    planted = tmp_path / "git/worktrees/one/config.worktree"
    planted.symlink_to(tmp_path / "outside/made")

    prepare_jail(spec, SandboxKind.LANDLOCK, person=Nobody())

    assert [path.name for path in (tmp_path / "outside").iterdir()] == ["plain"]
    assert not (tmp_path / "tmp" / name).is_symlink()

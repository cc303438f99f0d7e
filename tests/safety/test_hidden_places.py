from pathlib import Path

import pytest

from modules.safety.hidden_places import hidden_places

HOME = (
    ".ssh/id_ed25519",
    ".config/gh/hosts.yml",
    ".config/app/settings.toml",
    ".cargo/credentials.toml",
    ".cargo/bin/cargo",
    ".netrc",
    ".bashrc",
    "work/other/.env",
)
PROJECT = (
    ".env",
    ".env.example",
    "deploy/prod/server.pem",
    "src/main.py",
    "a/b/c/d/e/.env",
    "node_modules/x/.env",
    ".git/x.key",
    ".worktrees/one/.env",
    ".team/board.jsonl",
)


def made(root: Path, names: tuple[str, ...]) -> Path:
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("x")
    return root


def test_places_of_secrets_are_found_and_others_are_not(tmp_path: Path) -> None:
    home, project = made(tmp_path / "home", HOME), made(tmp_path / "project", PROJECT)
    user_folder = made(tmp_path / "user", ("folders.json",))

    found = hidden_places(home=home, user_folder=user_folder, project=project)

    below = {str(path.relative_to(tmp_path)) for path in found if path.is_relative_to(tmp_path)}
    assert below == {
        "user",
        "project/.team",
        "home/.ssh",
        "home/.config/gh",
        "home/.cargo/credentials.toml",
        "home/.netrc",
        "project/.env",
        "project/deploy/prod/server.pem",
    }


def test_missing_folders_hide_nothing(tmp_path: Path) -> None:
    nowhere = tmp_path / "nowhere"

    found = hidden_places(home=nowhere, user_folder=nowhere, project=nowhere)

    assert not [path for path in found if path.is_relative_to(tmp_path)]


@pytest.mark.timeout(20)
def test_search_in_a_crowd_ends_early_with_the_nearest(tmp_path: Path) -> None:
    for number in range(300):
        (tmp_path / f"d{number}").mkdir()
        (tmp_path / f"d{number}/.env").touch()
    (tmp_path / ".env").touch()

    found = hidden_places(home=tmp_path / "no", user_folder=tmp_path / "no", project=tmp_path)

    assert tmp_path / ".env" in found
    assert len(found) < 250

import pytest

from modules.safety.protected_names import is_protected_name


@pytest.mark.parametrize(
    "name",
    [
        ".git",
        ".GIT",
        ".Git",
        ".git.",
        ".git ",
        ".git. .",
        ".git::$INDEX_ALLOCATION",
        ".g\u200cit",
        ".\u200egit",
        "．git",
        "git~1",
        "GIT~12",
        ".team",
        ".Team",
        ".worktrees",
        ".WORKTREES.",
    ],
)
def test_protected_name_in_any_spelling_is_known(name: str) -> None:
    assert is_protected_name(name)


@pytest.mark.parametrize(
    "name", [".gitignore", ".github", "git", "git~x", "team", ".teams", "worktrees", "a.git", ""]
)
def test_other_name_is_not_protected(name: str) -> None:
    assert not is_protected_name(name)

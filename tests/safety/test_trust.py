import json
import os
from pathlib import Path

import pytest

from modules.records.errors import PersonFault
from modules.safety.trust import (
    TrustEntry,
    TrustStatus,
    TrustStore,
    read_what_would_be_trusted,
)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    root.mkdir()
    return root


@pytest.fixture
def store(tmp_path: Path) -> TrustStore:
    return TrustStore(tmp_path / "user")


def with_hook(project: Path, command: str) -> None:
    hooks = {"hooks": {"PreToolUse": [{"matcher": "bash", "command": command}]}}
    (project / ".hooks.json").write_text(json.dumps(hooks))


def test_folder_nobody_spoke_of_is_unknown(store: TrustStore, project: Path) -> None:
    assert store.status(project) is TrustStatus.UNKNOWN
    assert store.list() == []


def test_trusted_folder_is_trusted_until_a_settings_file_changes(
    store: TrustStore, project: Path
) -> None:
    with_hook(project, "true")
    store.add(project)
    assert store.status(project) is TrustStatus.TRUSTED

    for name in (".hooks.json", ".mcp.json", "team.toml"):
        (project / name).write_text("")

        assert store.status(project) is TrustStatus.CHANGED
        store.add(project)
        assert store.status(project) is TrustStatus.TRUSTED


def test_removed_settings_are_a_change(store: TrustStore, project: Path) -> None:
    with_hook(project, "true")
    store.add(project)

    (project / ".hooks.json").unlink()

    assert store.status(project) is TrustStatus.CHANGED


@pytest.mark.parametrize("command", ["./guard.sh -x", 'sh "$CLAUDE_PROJECT_DIR/guard.sh"'])
def test_changed_script_of_a_hook_is_a_change(
    store: TrustStore, project: Path, command: str
) -> None:
    (project / "guard.sh").write_text("exit 0")
    with_hook(project, command)
    store.add(project)

    (project / "guard.sh").write_text("evil")

    assert store.status(project) is TrustStatus.CHANGED


def test_changed_program_of_a_server_is_a_change(store: TrustStore, project: Path) -> None:
    (project / "servers").mkdir()
    (project / "servers/echo.py").write_text("1")
    servers = {"mcpServers": {"echo": {"command": "python", "args": ["servers/echo.py"]}}}
    (project / ".mcp.json").write_text(json.dumps(servers))
    store.add(project)

    (project / "other.py").write_text("of no concern")
    assert store.status(project) is TrustStatus.TRUSTED
    (project / "servers/echo.py").write_text("2")

    assert store.status(project) is TrustStatus.CHANGED


def test_content_that_was_shown_is_what_is_trusted(store: TrustStore, project: Path) -> None:
    with_hook(project, "true")
    shown = read_what_would_be_trusted(project)
    with_hook(project, "evil")

    store.add(project, shown)

    assert store.status(project) is TrustStatus.CHANGED


def test_denied_folder_stays_denied_whatever_changes(store: TrustStore, project: Path) -> None:
    store.deny(project)
    with_hook(project, "true")

    assert store.status(project) is TrustStatus.DENIED


def test_removed_folder_is_unknown_again(store: TrustStore, project: Path) -> None:
    store.add(project)
    store.remove(project)
    store.remove(project)

    assert store.status(project) is TrustStatus.UNKNOWN


def test_folder_is_known_by_its_real_path_and_not_by_its_parents(
    store: TrustStore, project: Path, tmp_path: Path
) -> None:
    (tmp_path / "alias").symlink_to(project)
    (project / "inner").mkdir()
    store.add(tmp_path / "alias")

    assert store.status(project) is TrustStatus.TRUSTED
    assert store.status(project / "inner") is TrustStatus.UNKNOWN
    assert store.list() == [TrustEntry(folder=project.resolve(), status=TrustStatus.TRUSTED)]


def test_file_in_the_project_can_not_claim_trust(store: TrustStore, project: Path) -> None:
    for name in ("folders.json", ".claude/.claude_trusted", ".team/folders.json"):
        (project / name).parent.mkdir(exist_ok=True)
        (project / name).write_text(json.dumps({str(project): {"status": "trusted"}}))

    assert store.status(project) is TrustStatus.UNKNOWN


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[]", b'{"/x": {"status": "yes"}}', b'{"/x": {}}', b"\xff"]
)
def test_broken_store_is_an_error_and_is_not_overwritten(
    store: TrustStore, project: Path, tmp_path: Path, content: bytes
) -> None:
    path = tmp_path / "user/folders.json"
    path.parent.mkdir()
    path.write_bytes(content)

    for act in (
        lambda: store.status(project),
        store.list,
        lambda: store.add(project),
        lambda: store.deny(project),
        lambda: store.remove(project),
    ):
        with pytest.raises(PersonFault, match=r"can't be read"):
            act()

    assert path.read_bytes() == content


def test_store_is_for_the_person_alone(store: TrustStore, project: Path, tmp_path: Path) -> None:
    store.add(project)

    assert (tmp_path / "user/folders.json").stat().st_mode & 0o777 == 0o600


def test_what_would_be_trusted_is_told_in_full(project: Path) -> None:
    (project / "guard.sh").write_text("exit 0")
    with_hook(project, "./guard.sh \x1b[2K")
    (project / ".mcp.json").write_text(
        json.dumps({"mcpServers": {"echo": {"command": "python", "args": ["-m", "echo"]}}})
    )
    (project / "team.toml").write_text('check = "pytest"\nworkers = 2\n')

    offered = read_what_would_be_trusted(project)

    assert offered.files == (".mcp.json", ".hooks.json", "team.toml", "guard.sh")
    assert offered.lines == (
        ".mcp.json: mcpServers.echo.command = python",
        '.mcp.json: mcpServers.echo.args = ["-m", "echo"]',
        ".hooks.json: hooks.PreToolUse.1.matcher = bash",
        ".hooks.json: hooks.PreToolUse.1.command = ./guard.sh \\x1b[2K",
        "team.toml: check = pytest",
        "team.toml: workers = 2",
        "guard.sh: a command names it",
    )


def test_broken_settings_file_is_told_as_such(project: Path) -> None:
    (project / ".hooks.json").write_text("{")

    offered = read_what_would_be_trusted(project)

    assert offered.files == (".hooks.json",)
    assert offered.lines == (".hooks.json: it can't be understood",)


def test_nothing_to_trust_is_an_empty_offer(project: Path) -> None:
    offered = read_what_would_be_trusted(project)

    assert (offered.files, offered.lines) == ((), ())


def test_settings_file_that_is_no_plain_file_is_told(project: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere.json").write_text("{}")
    (project / ".mcp.json").symlink_to(tmp_path / "elsewhere.json")

    with pytest.raises(PersonFault, match="leads outside"):
        read_what_would_be_trusted(project)

    (project / ".mcp.json").unlink()
    os.mkfifo(project / ".mcp.json")
    with pytest.raises(PersonFault, match="not a regular file"):
        read_what_would_be_trusted(project)

import json
from pathlib import Path

import pytest

from modules.records.errors import PersonFault
from modules.safety.hook_matching import Hook, HookEvent
from modules.safety.hook_settings import HookFile, fingerprint, read_hooks


def written(folder: Path, document: object) -> Path:
    path = folder / ".hooks.json"
    path.write_text(document if isinstance(document, str) else json.dumps(document))
    return path


def test_missing_file_holds_no_hooks(tmp_path: Path) -> None:
    assert read_hooks(tmp_path / ".hooks.json") == HookFile()


def test_both_shapes_are_read(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        {
            "hooks": {
                "PreToolUse": [
                    {
                        "matcher": "Bash|Write",
                        "hooks": [
                            {
                                "type": "command",
                                "command": "guard",
                                "args": ["-x"],
                                "timeout": 5,
                                "if": "Bash(git *)",
                                "onFailure": "block",
                            },
                            {"command": "second"},
                        ],
                    },
                    {"matcher": "bash", "command": "short"},
                ],
                "Stop": [{"command": "end", "onFailure": "continue", "timeout": 1.5}],
            }
        },
    )

    found = read_hooks(path)

    assert found.warnings == ()
    assert found.hooks == (
        Hook(
            event=HookEvent.PRE_TOOL_USE,
            matcher="Bash|Write",
            command="guard",
            source=".hooks.json, PreToolUse 1",
            args=("-x",),
            timeout_seconds=5.0,
            condition="Bash(git *)",
            blocks_on_failure=True,
        ),
        Hook(
            event=HookEvent.PRE_TOOL_USE,
            matcher="Bash|Write",
            command="second",
            source=".hooks.json, PreToolUse 1",
        ),
        Hook(
            event=HookEvent.PRE_TOOL_USE,
            matcher="bash",
            command="short",
            source=".hooks.json, PreToolUse 2",
            blocks_on_failure=True,
        ),
        Hook(
            event=HookEvent.STOP,
            matcher="",
            command="end",
            source=".hooks.json, Stop 1",
            timeout_seconds=1.5,
        ),
    )


def test_unknown_event_is_a_warning(tmp_path: Path) -> None:
    path = written(tmp_path, {"hooks": {"PreTooluse": [{"command": "x"}]}})

    found = read_hooks(path)

    assert found.hooks == ()
    assert found.warnings == (".hooks.json: there is no event 'PreTooluse'; its hooks never run.",)


@pytest.mark.parametrize(
    ("document", "says"),
    [
        ('{"hooks": {\n  "Stop": [1,]\n}}', "line 2"),
        ("", "line 1"),
        ("[]", "at the top"),
        ('{"hooks": [], "hook": {}}', "at hooks"),
        ('{"hook": {}}', "at hook"),
        ('{"hooks": {"Stop": [], "Stop": []}}', "'Stop' is there twice"),
        ('{"hooks": {"Stop": [{"matcher": "*"}]}}', "at hooks.Stop.0"),
        ('{"hooks": {"Stop": [{"command": "x", "hooks": []}]}}', "at hooks.Stop.0"),
        ('{"hooks": {"Stop": [{"command": ""}]}}', "at hooks.Stop.0.command"),
        ('{"hooks": {"Stop": [{"command": "x", "timeout": 0}]}}', "at hooks.Stop.0.timeout"),
        ('{"hooks": {"Stop": [{"command": "x", "timeout": "5"}]}}', "at hooks.Stop.0.timeout"),
        ('{"hooks": {"Stop": [{"command": "x", "onFailure": "deny"}]}}', "onFailure"),
        ('{"hooks": {"Stop": [{"hooks": [{"command": "x", "onfailure": "block"}]}]}}', "onfailure"),
        ('{"hooks": {"Stop": [{"hooks": [{"type": "prompt", "command": "x"}]}]}}', "type"),
        (
            '{"hooks": {"PreToolUse": [{"matcher": "[", "command": "x"}]}}',
            "PreToolUse 1: the matcher '['",
        ),
    ],
)
def test_broken_file_is_told_with_its_place_and_never_read_as_fewer_hooks(
    tmp_path: Path, document: str, says: str
) -> None:
    path = written(tmp_path, document)

    with pytest.raises(PersonFault) as caught:
        read_hooks(path)

    assert says in str(caught.value)
    assert ".hooks.json" in str(caught.value)


def test_unreadable_file_is_told(tmp_path: Path) -> None:
    (tmp_path / ".hooks.json").mkdir()

    with pytest.raises(PersonFault, match=r"can't be read"):
        read_hooks(tmp_path / ".hooks.json")


def test_file_that_is_no_text_is_told(tmp_path: Path) -> None:
    (tmp_path / ".hooks.json").write_bytes(b"\xff\xfe\x00")

    with pytest.raises(PersonFault):
        read_hooks(tmp_path / ".hooks.json")


def test_fingerprint_follows_the_content(tmp_path: Path) -> None:
    path = written(tmp_path, {"hooks": {}})
    before = read_hooks(path).fingerprint

    assert fingerprint(path) == before
    path.write_text('{"hooks": {} }')
    assert fingerprint(path) not in ("", before)
    path.unlink()
    assert fingerprint(path) == ""

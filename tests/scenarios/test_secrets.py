"""A known secret, wherever it comes from, ends in no prompt, no journal, no result, no commit."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.scenarios.programs import (
    Ended,
    bash,
    calls,
    commit,
    crewyard,
    git,
    heard,
    make_repository,
    make_script,
    submit,
    tasks,
    worker,
    write,
)

pytestmark = pytest.mark.slow

SECRET = "zq9-rather-long-key-17"
AWS = "AKIA" + "QRSTUVWXYZ234567"
MASKED = "[secret SHOP_API_KEY]"


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    return make_repository(tmp_path / "sample", {"README.md": "a sample\n"})


def run(repository: Path, goal: str, check: str, *script: object) -> Ended:
    spec = make_script(repository.parent, list(script))  # type: ignore[arg-type]  # YAML's shapes
    return crewyard(
        *("-p", goal, "--json", "--check", check, "--model", spec),
        cwd=repository,
        environment={"SHOP_API_KEY": SECRET},
    )


def kept_by_us(repository: Path) -> Iterator[tuple[Path, str]]:
    """Yields what the lead wrote down, but for the words of the models themselves."""
    for path in sorted((repository / ".team").rglob("*")):
        if path.is_file() and path.parent.name != "sessions":
            yield path, path.read_text(errors="replace")


def test_known_secret_is_masked_in_all_that_is_kept_and_never_lands(
    repository: Path,
) -> None:
    check = f"printf 'the service answers with %s%s\\n' {SECRET[:9]} {SECRET[9:]}"
    lead = {
        "agent": "lead",
        "turns": [
            {
                "expect": r"use the key \[secret SHOP_API_KEY\] for it",
                **calls(
                    {"board_post_task": {"subject": "add it", "description": f"with {SECRET}"}}
                ),
            },
            {"say": "Posted."},
            {"expect": r"it says \[secret SHOP_API_KEY\]", "say": "Noted."},
            {"expect": "landed", "say": "Landed."},
            {"say": "Landed."},
        ],
    }
    working = worker(
        "add it",
        {
            "expect": r"with \[secret SHOP_API_KEY\]",
            **calls(
                write("key.py", f"\nkey = '{SECRET}'\n"),
                bash("cat key.py"),
                {"send_message": {"to": "lead", "content": f"it says {SECRET}"}},
                commit("add"),
            ),
        },
        calls(submit(f"the key is {SECRET}")),
        {
            "expect": r"key.py, line 2: secret SHOP_API_KEY",
            **calls(bash("git reset -q --soft HEAD~1"), write("key.py", "key = 1\n")),
        },
        calls(commit("add anew"), submit(f"the key was {SECRET}")),
    )

    ended = run(repository, f"use the key {SECRET} for it", check, lead, working)

    assert ended.code == 0, ended
    assert [task["status"] for task in tasks(repository)] == ["completed"]
    assert git(repository, "show", "main:key.py") == "key = 1"
    assert SECRET not in git(repository, "log", "-p", "--all")
    assert SECRET not in heard(repository, "*")
    assert {path.name: SECRET in text for path, text in kept_by_us(repository)}.items() >= {
        ("board.jsonl", False),
        ("mail.jsonl", False),
        ("queue.jsonl", False),
        ("1-1.md", False),
    }
    assert [path for path, text in kept_by_us(repository) if SECRET in text] == []
    logs = [text for path, text in kept_by_us(repository) if path.parent.name == "checks"]
    assert f"the service answers with {MASKED}" in "".join(logs)


def test_what_looks_like_a_secret_is_stopped_without_a_person(repository: Path) -> None:
    lead = {
        "agent": "lead",
        "turns": [
            calls({"board_post_task": {"subject": "add it"}}),
            {"say": "Posted."},
            {"expect": "failed|without changes", "say": "Seen."},
        ],
    }
    working = worker(
        "add it",
        calls(write("key.py", f"key = '{AWS}'\n"), commit("add")),
        calls(submit()),
        {
            "expect": "key.py, line 1: an AWS key",
            **calls(bash("git reset -q --hard HEAD~1"), submit(no_changes_reason="Not needed.")),
        },
    )

    ended = run(repository, "add it", "true", lead, working)

    assert ended.code == 0, ended
    assert git(repository, "log", "--format=%s", "main") == "first"
    assert AWS not in heard(repository, "*")

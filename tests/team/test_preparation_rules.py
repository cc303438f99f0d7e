"""What is copied into worktrees, what tells one setup from another, whose ports are whose."""

import pytest

from modules.team.preparation_rules import (
    MOST_COPIED_BYTES,
    MOST_COPIED_FILES,
    CopyPlan,
    Found,
    first_block,
    plan_copy,
    setup_key,
)


def found(path: str, *, size: int = 1, plain: bool = True, ignored: bool = True) -> Found:
    return Found(path, size, is_plain=plain, is_ignored=ignored)


@pytest.mark.parametrize(
    ("file", "why"),
    [
        (found(".env"), "is named like a secret"),
        (found("deploy/ID_RSA"), "is named like a secret"),
        (found("certs.pem/readme"), "is named like a secret"),
        (found(".git/config"), "lies in a folder of git's"),
        (found("sub/.team/x"), "lies in a folder of git's"),
        (found("link", plain=False), "is no plain file"),
        (found("new.txt", ignored=False), "is not ignored by git"),
    ],
)
def test_plan_of_what_may_not_be_copied_says_why(file: Found, why: str) -> None:
    plan = plan_copy([file, found("local.ini"), found(".env.example")])

    assert plan.paths == (".env.example", "local.ini")
    assert len(plan.refused) == 1
    assert why in plan.refused[0]


@pytest.mark.parametrize(
    "files",
    [
        [found("a", size=MOST_COPIED_BYTES), found("b")],
        [found(str(number)) for number in range(MOST_COPIED_FILES + 1)],
    ],
    ids=["bytes", "files"],
)
def test_plan_of_too_much_copies_nothing(files: list[Found]) -> None:
    plan = plan_copy(files)

    assert plan.paths == ()
    assert "the most is" in plan.refused[0]


def test_plan_of_nothing_is_empty() -> None:
    assert plan_copy([]) == CopyPlan()


def test_setup_key_is_another_for_another_command_file_or_content() -> None:
    keys = [
        setup_key("npm ci", {}),
        setup_key("npm i", {}),
        setup_key("npm ci", {"package-lock.json": b"1"}),
        setup_key("npm ci", {"package-lock.json": b"2"}),
        setup_key("npm ci", {"yarn.lock": b"1"}),
    ]

    assert len(set(keys)) == len(keys)
    assert setup_key("c", {"a": b"1", "b": b"2"}) == setup_key("c", {"b": b"2", "a": b"1"})


def test_blocks_of_ports_never_overlap_and_what_is_in_use_is_passed_over() -> None:
    taken: list[int] = []
    for _ in range(1_200):
        block = first_block("repo", taken, lambda ports: True)
        assert block is not None
        taken.append(block)
    ports = {port for block in taken for port in range(block, block + 10)}

    assert len(ports) == 12_000
    assert min(ports) == 20_000
    assert max(ports) < 32_768
    assert first_block("repo", taken, lambda ports: True) is None
    assert first_block("repo", [], lambda ports: ports[0] != taken[0]) == taken[1]

"""A script that is wrong says where; one that is right is read as it is meant."""

import json
from pathlib import Path

import pytest

from modules.providers.script_file import Entry, ScriptedError, ScriptedUsage, Turn, read_script
from modules.records.errors import PersonFault
from modules.records.exits import Exit

SCRIPT = """\
- agent: lead
  turns:
    - say: Two tasks.
      call:
        - board_post_task: {subject: add mean, claim_role: backend}
    - {expect: landed, say: Done.}
- agent: "*"
  task: add mean
  turns:
    - call: [{write_file: {path: a.py, content: "x = 1\\n"}}, {bash: {command: git add -A}}]
    - call: {submit_work: {summary: mean added}, list_all: }
    - {error: {status: 429, retry_after: 2}}
    - {say: half, cut: true, delay_seconds: 0.5}
    - {say: paid, usage: {input_tokens: 10, output_tokens: 2}}
"""


def write(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "script.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_script_is_read_as_it_is_meant(tmp_path: Path) -> None:
    expected = (
        Entry(
            agent="lead",
            turns=(
                Turn(
                    say="Two tasks.",
                    call=({"board_post_task": {"subject": "add mean", "claim_role": "backend"}},),
                ),
                Turn(expect="landed", say="Done."),
            ),
        ),
        Entry(
            agent="*",
            task="add mean",
            turns=(
                Turn(
                    call=(
                        {"write_file": {"path": "a.py", "content": "x = 1\n"}},
                        {"bash": {"command": "git add -A"}},
                    )
                ),
                Turn(call=({"submit_work": {"summary": "mean added"}, "list_all": {}},)),
                Turn(error=ScriptedError(status=429, retry_after=2)),
                Turn(say="half", cut=True, delay_seconds=0.5),
                Turn(say="paid", usage=ScriptedUsage(input_tokens=10, output_tokens=2)),
            ),
        ),
    )

    assert read_script(write(tmp_path, SCRIPT)) == expected


def test_json_is_read_as_well(tmp_path: Path) -> None:
    entries = [{"agent": "lead", "turns": [{"say": "hi"}]}]

    assert read_script(write(tmp_path, json.dumps(entries))) == (
        Entry(agent="lead", turns=(Turn(say="hi"),)),
    )


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("- agent: lead\n  turns: [{say: a}, {sya: b}]", "entry 1, turn 2, 'sya'"),
        ("- agent: lead\n  turns: [{say: 3}]", "entry 1, turn 1, 'say'"),
        ("- agent: lead\n  turns: []", "entry 1, 'turns'"),
        ("- {agent: a, turns: [{say: x}]}\n- {turns: [{say: x}]}", "entry 2, 'agent'"),
        ("- agent: lead\n  turns: [{expect: '(', say: x}]", "entry 1, turn 1, 'expect'"),
        ("- agent: lead\n  turns: [{expect: x}]", "entry 1, turn 1: "),
        ("- agent: lead\n  turns: [{cut: true, error: {status: 500}}]", "entry 1, turn 1: "),
        ("- agent: lead\n  turns: [{error: {status: 200}}]", "entry 1, turn 1, 'error > status'"),
        ("- agent: lead\n  turns: [{call: bash}]", "entry 1, turn 1, 'call'"),
        ("- agent: lead\n  turns: [{call: {bash: ls}}]", "entry 1, turn 1, 'call > 1 > bash'"),
        ("- agent: lead\n  turns: [{call: {a: {d: 2026-01-01}}}]", "'call > 1 > a > d"),
        ("agent: lead", "its top level"),
        ("", "its top level"),
        ("- [", "line 1"),
        ("a: b: c", "line 1"),
    ],
    ids=[
        "unknown field",
        "number for words",
        "no turns",
        "no agent",
        "bad regexp",
        "turn says nothing",
        "two failures",
        "no failure",
        "call of a word",
        "input of a word",
        "date in an input",
        "no list",
        "empty",
        "open bracket",
        "no YAML",
    ],
)
def test_a_wrong_script_is_a_usage_error_with_file_and_place(
    tmp_path: Path, text: str, place: str
) -> None:
    path = write(tmp_path, text)

    with pytest.raises(PersonFault) as caught:
        read_script(path)

    assert caught.value.exit_code == Exit.USAGE
    assert str(path) in str(caught.value)
    assert place in str(caught.value)
    assert caught.value.hint


def test_a_file_that_is_missing_or_no_text_is_a_usage_error(tmp_path: Path) -> None:
    binary = tmp_path / "binary"
    binary.write_bytes(b"\xff\xfe\x00")

    for path in (tmp_path / "missing.yaml", tmp_path, binary):
        with pytest.raises(PersonFault, match="can't be read") as caught:
            read_script(path)
        assert caught.value.exit_code == Exit.USAGE

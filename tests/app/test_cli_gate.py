"""Tests of modules/app/cli_gate.py: whatever a batch holds, each line has one answer."""

import json
from pathlib import Path
from typing import Any

import pytest

from modules.app.cli_gate import gate
from modules.records.errors import PersonFault
from modules.records.exits import Exit
from tests.scenarios.programs import make_repository

BAD_LINES: tuple[tuple[bytes, object], ...] = (
    (b"not json", None),
    (b'["ls"]', None),
    (b"[" * 100_000, None),
    (b'{"id": "no input", "kind": "bash"}', "no input"),
    (b'{"id": "kind", "kind": "zoo", "input": "ls"}', "kind"),
    (b'{"id": "op", "kind": "path", "input": "a", "op": "append"}', "op"),
    (b'{"id": "type", "kind": "bash", "input": 7}', "type"),
    (b'{"id": 1.5, "kind": "bash", "input": "ls"}', 1.5),
    (b'{"id": "raw", "kind": "bash", "input": "l\0s"}', None),
    (b'{"id": "bytes", "kind": "bash", "input": "l\xffs"}', None),
)


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CREWYARD_SANDBOX", "off")
    return make_repository(tmp_path / "sample", {"README.md": "a sample\n"})


def judged(
    repository: Path, batch: bytes, capsys: pytest.CaptureFixture[str]
) -> tuple[int, list[dict[str, Any]], list[str]]:
    """Runs a batch; returns the exit code, the answers, and the lines on stderr."""
    file = repository.parent / "batch.jsonl"
    file.write_bytes(batch)
    code = gate(batch=file, repo=repository)
    told = capsys.readouterr()
    return code, [json.loads(line) for line in told.out.splitlines()], told.err.splitlines()


def test_gate_when_lines_are_bad_then_they_are_refused_and_the_rest_judged(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    good = b'{"id": "good", "kind": "bash", "input": "ls"}'
    lines = [line for bad, _ in BAD_LINES for line in (bad, good)]

    code, answers, errors = judged(repository, b"\n".join(lines), capsys)

    assert code == Exit.USAGE
    assert [answer["id"] for answer in answers[::2]] == [name for _, name in BAD_LINES]
    assert {answer["decision"] for answer in answers[::2]} == {"deny"}
    assert {(answer["id"], answer["decision"]) for answer in answers[1::2]} == {("good", "allow")}
    assert [line.partition(" of ")[0] for line in errors] == [
        f"crewyard: Line {number}" for number in range(1, len(lines), 2)
    ]


def test_gate_when_text_is_odd_then_it_is_judged_briefly(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    items = [
        {"id": f"{kind} {text[:5]!r}", "kind": kind, "input": text}
        for kind in ("bash", "path", "url")
        for text in ("", " ", "a\0b", "\ud800", "\ufeff", "a" * 100_000, "(" * 9000)
    ]
    batch = "\n".join(json.dumps(item) for item in items).encode()

    code, answers, errors = judged(repository, batch, capsys)

    assert (code, errors) == (Exit.DONE, [])
    assert [answer["id"] for answer in answers] == [item["id"] for item in items]
    assert {answer["decision"] for answer in answers} <= {"ask", "deny"}
    assert max(len(answer["why"]) for answer in answers) < 11_000


def test_gate_when_a_line_leaves_its_operation_empty_then_it_is_judged(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    items = [
        {"id": kind, "kind": kind, "input": text, "op": op}
        for kind, text in (("bash", "ls"), ("path", "a.py"), ("url", "https://example.org/"))
        for op in ("", None)
    ]
    batch = "\n".join(json.dumps(item) for item in items).encode()

    code, answers, errors = judged(repository, batch, capsys)

    assert (code, errors) == (Exit.DONE, [])
    assert [answer["risk"] for answer in answers[::2]] == ["safe", "write", "safe"]
    assert answers[::2] == answers[1::2]


def test_gate_when_a_file_has_a_mark_and_other_ends_of_lines_then_it_is_read(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    line = b'{"id": "a", "kind": "bash", "input": "ls"}\r\n\r\n'

    code, answers, _ = judged(repository, b"\xef\xbb\xbf" + line, capsys)

    assert (code, [answer["decision"] for answer in answers]) == (Exit.DONE, ["allow"])
    assert judged(repository, b"", capsys) == (Exit.DONE, [], [])


@pytest.mark.parametrize("name", ["missing", "."])
def test_gate_when_there_is_no_file_then_the_person_is_told(repository: Path, name: str) -> None:
    with pytest.raises(PersonFault, match="can't be read"):
        gate(batch=repository / name, repo=repository)

"""Starts that can't work: one clear line, the right exit code, nothing left behind."""

import fcntl
import json
from pathlib import Path

import pytest

from tests.scenarios.programs import crewyard, git, make_repository, make_script

pytestmark = pytest.mark.slow

FILES = {"README.md": "a sample\n"}


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    return make_repository(tmp_path / "sample", FILES)


def assert_one_line(text: str, *words: str) -> None:
    lines = text.strip().splitlines()
    assert len(lines) == 1, text
    for word in words:
        assert word in lines[0]


def test_folder_that_is_no_repository_is_named_with_what_to_do(tmp_path: Path) -> None:
    ended = crewyard("-p", "anything", "--model", "scripted:x.yaml", cwd=tmp_path)

    assert ended.code == 2
    assert_one_line(ended.err, "is not a git repository", "git init")


def test_repository_without_a_commit_is_refused_with_what_to_do(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "-b", "trunk")

    ended = crewyard("work", cwd=tmp_path)

    assert ended.code == 2
    assert_one_line(ended.err, "commit")
    assert not (tmp_path / ".team").exists()


def test_bare_repository_is_refused(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "--bare")

    ended = crewyard("work", cwd=tmp_path)

    assert ended.code == 2
    assert_one_line(ended.err, "bare", "Clone")


def test_detached_head_wants_a_target(repository: Path) -> None:
    git(repository, "checkout", "-q", "--detach")

    ended = crewyard("work", cwd=repository)

    assert ended.code == 2
    assert_one_line(ended.err, "detached", "--target main")


def test_missing_key_names_the_variable(repository: Path) -> None:
    ended = crewyard("-p", "anything", "--model", "anthropic:some", cwd=repository)

    assert ended.code == 2
    assert_one_line(ended.err, "ANTHROPIC_API_KEY")


def test_no_model_and_no_key_names_both(repository: Path) -> None:
    ended = crewyard("-p", "anything", cwd=repository)

    assert ended.code == 2
    assert_one_line(ended.err, "ANTHROPIC_API_KEY", "--model")


def test_unknown_provider_names_the_nearest(repository: Path) -> None:
    ended = crewyard("-p", "anything", "--model", "antropic:some", cwd=repository)

    assert ended.code == 2
    assert_one_line(ended.err, "'antropic'", "'anthropic'")


def test_broken_team_toml_names_file_and_line(repository: Path) -> None:
    (repository / "team.toml").write_text("check = \n")

    ended = crewyard("work", cwd=repository)

    assert ended.code == 2
    assert_one_line(ended.err, "team.toml", "line 1")


def test_unknown_key_in_team_toml_names_the_nearest(repository: Path) -> None:
    (repository / "team.toml").write_text("chek = 'true'\n")

    ended = crewyard("work", cwd=repository)

    assert ended.code == 2
    assert_one_line(ended.err, "team.toml", "'chek'", "'check'")


def test_unreadable_script_names_the_file(repository: Path) -> None:
    ended = crewyard("-p", "anything", "--model", "scripted:missing.yaml", cwd=repository)

    assert ended.code == 2
    assert_one_line(ended.err, "missing.yaml")


def test_second_lead_is_refused_and_names_the_first(repository: Path, tmp_path: Path) -> None:
    spec = make_script(tmp_path, [{"agent": "*", "turns": [{"say": "Nothing to do."}]}])
    (repository / ".team").mkdir()
    with (repository / ".team" / "lead.lock").open("w") as lock:
        lock.write("pid 4711\n")
        lock.flush()
        fcntl.flock(lock, fcntl.LOCK_EX)

        ended = crewyard("work", "--model", spec, cwd=repository)

    assert ended.code == 2
    assert_one_line(ended.err, "lead already runs", "4711")


def test_target_that_does_not_exist_is_named(repository: Path) -> None:
    ended = crewyard("work", "--target", "mian", cwd=repository)

    assert ended.code == 2
    assert_one_line(ended.err, "'mian'", "main")


def test_error_with_json_is_one_document(repository: Path) -> None:
    ended = crewyard("work", "--target", "mian", "--json", cwd=repository)

    assert ended.code == 2
    assert ended.document["exit_code"] == 2
    assert "mian" in ended.document["error"]


@pytest.mark.parametrize("arguments", [("nonsense",), ("work", "--workers", "0"), ("task",)])
def test_wrong_usage_ends_with_2(arguments: tuple[str, ...], repository: Path) -> None:
    ended = crewyard(*arguments, cwd=repository)

    assert ended.code == 2
    assert ended.err.strip()


def test_malformed_rule_stops_the_start_and_names_its_file(
    repository: Path, tmp_path: Path, own_environment: Path
) -> None:
    settings = own_environment / "crewyard" / "settings.toml"
    settings.parent.mkdir()
    settings.write_text('[permissions]\ndeny = ["Bash("]\n')
    spec = make_script(tmp_path, [{"agent": "lead", "turns": [{"say": "hi"}]}])

    ended = crewyard("-p", "anything", "--model", spec, cwd=repository)

    assert ended.code == 2
    assert_one_line(ended.err, "'Bash('", str(settings), "malformed")


def test_rule_that_does_nothing_is_told_when_the_run_starts(
    repository: Path, tmp_path: Path, own_environment: Path
) -> None:
    settings = own_environment / "crewyard" / "settings.toml"
    settings.parent.mkdir()
    settings.write_text('[permissions]\ndeny = ["Bsh(rm *)"]\n')
    spec = make_script(tmp_path, [{"agent": "lead", "turns": [{"say": "hi"}]}])

    ended = crewyard(
        *("-p", "anything", "--output-format", "stream-json", "--model", spec), cwd=repository
    )

    notices = [
        event["text"] for event in map(json.loads, ended.out.splitlines()) if "text" in event
    ]
    assert ended.code == 0
    assert [text for text in notices if "there is no tool 'Bsh'" in text] == notices[:1]

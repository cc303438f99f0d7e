"""What an agent's tools may come across, and how the tools look to a model."""

import json
from pathlib import Path

import pytest

from modules.agent.schema import input_schema
from modules.records.errors import ModelFault
from modules.records.tooling import Place
from tests.tools.lanes import make_lane
from tools.background import BACKGROUND_TOOLS
from tools.files import FILE_TOOLS
from tools.search import SEARCH_TOOLS
from tools.shell import SHELL_TOOLS
from tools.todo import TODO_TOOLS

TOOLS = (*SHELL_TOOLS, *BACKGROUND_TOOLS, *FILE_TOOLS, *SEARCH_TOOLS, *TODO_TOOLS)


@pytest.mark.parametrize(
    ("path", "is_hidden"),
    [
        ("{root}/.env", True),
        ("{root}/a/.ENV.local", True),
        ("{root}/.env.example", False),
        ("{root}/id_rsa", True),
        ("{root}/id_rsa.pub", False),
        ("{root}/server.pem/x", True),
        ("{root}/.docker/Dockerfile", False),
        ("{root}/environ", False),
        ("/home/somebody/.aws/credentials", True),
        ("/srv/.ssh/config", True),
        ("/proc/1/environ", True),
        ("/usr/lib/python3/os.py", False),
    ],
)
def test_hides_when_a_name_tells_of_secrets_then_the_file_is_left_out(
    tmp_path: Path, path: str, is_hidden: bool
) -> None:
    lane = make_lane(tmp_path / "lane")

    assert lane.hides(Path(path.format(root=lane.root))) == is_hidden


@pytest.mark.parametrize(
    ("path", "is_hidden"),
    [("w1/outputs/call.txt", False), ("w1/.env", True), ("w2/outputs/call.txt", True)],
)
def test_hides_the_crews_own_files_but_for_the_agents_temporary_folder(
    tmp_path: Path, path: str, is_hidden: bool
) -> None:
    crews = tmp_path / ".team" / "tmp"
    lane = make_lane(tmp_path / "lane", temporary=crews / "w1")

    assert lane.hides(crews / path) == is_hidden


def test_real_path_when_links_are_on_the_way_then_they_are_resolved(tmp_path: Path) -> None:
    lane = make_lane(tmp_path / "lane")
    (lane.root / "real").mkdir()
    (lane.root / "link").symlink_to("real")

    assert lane.real_path("link/a.txt") == lane.root / "real" / "a.txt"
    assert lane.real_path("../b.txt") == tmp_path / "b.txt"
    assert lane.real_path("/etc/hosts") == Path("/etc/hosts")
    with pytest.raises(ModelFault, match="can't be the name of a file"):
        lane.real_path("a\0b")


def test_real_path_when_a_path_goes_up_from_a_link_then_it_is_refused(tmp_path: Path) -> None:
    lane = make_lane(tmp_path / "lane")
    (tmp_path / "other" / "inner").mkdir(parents=True)
    (tmp_path / "other" / "a.txt").write_text("judged")
    (lane.root / "a.txt").symlink_to(".env")
    (lane.root / ".env").write_text("not judged")
    (lane.root / "link").symlink_to(tmp_path / "other" / "inner")

    # The system takes it for another file than the fence does.
    assert (lane.root / "link/../a.txt").read_text() == "judged"
    assert lane.fence.read_bytes("link/../a.txt", limit_bytes=100) == b"not judged"
    with pytest.raises(ModelFault, match="goes up from a link"):
        lane.real_path("link/../a.txt")


def test_lane_tools_have_the_names_and_fields_that_models_know() -> None:
    fields = {tool.name: list(input_schema(tool.input)["properties"]) for tool in TOOLS}

    assert fields == {
        "bash": ["command", "timeout_seconds", "description"],
        "background_run": ["command", "life_seconds", "description"],
        "check_background": ["task_id", "wait_seconds", "wait_for", "stop"],
        "read_file": ["path", "offset", "limit"],
        "write_file": ["path", "content"],
        "edit_file": ["path", "old_text", "new_text", "replace_all"],
        "multi_edit": ["path", "edits"],
        "delete_file": ["path"],
        "list_dir": ["path"],
        "glob": ["pattern", "path"],
        "grep": ["pattern", "path", "glob", "ignore_case", "context", "limit"],
        "todo": ["items"],
    }
    assert {tool.place for tool in TOOLS} == {Place.LANE}


def test_lane_tools_have_schemas_that_need_nothing_but_themselves() -> None:
    for tool in TOOLS:
        schema = input_schema(tool.input)

        assert schema["type"] == "object"
        assert not {"$ref", "$defs", "anyOf", "oneOf"} & set(json.dumps(schema).split('"'))

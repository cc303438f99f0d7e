import json
from pathlib import Path
from typing import Any

import pytest

from modules.mcp_client.config import read_servers
from modules.mcp_client.values import ServerEntry
from modules.records.errors import PersonFault


def written(folder: Path, document: object) -> Path:
    path = folder / ".mcp.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    return path


def only(folder: Path, fields: dict[str, Any], **variables: str) -> ServerEntry:
    path = written(folder, {"mcpServers": {"s": fields}})
    (entry,) = read_servers(path, variables)
    return entry


def test_file_with_servers_gives_them_in_order_with_variables_filled_in(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        {
            "mcpServers": {
                "b": {
                    "type": "stdio",
                    "command": "${BIN}/serve",
                    "args": ["--home=${HOME}", "$HOME", "${PORT:-80}"],
                    "env": {"TOKEN": "${TOKEN}"},
                    "cwd": "sub/${X:-}",
                    "timeout_seconds": 5,
                },
                "a": {"command": "a", "disabled": True},
            }
        },
    )

    servers = read_servers(path, {"BIN": "/b", "HOME": "/h", "TOKEN": "t"})

    assert servers == (
        ServerEntry(
            name="b",
            command="/b/serve",
            args=("--home=/h", "$HOME", "80"),
            env={"TOKEN": "t"},
            cwd="sub/",
            timeout_seconds=5.0,
            fingerprint=servers[0].fingerprint,
        ),
        ServerEntry(name="a", command="a", is_disabled=True, fingerprint=servers[1].fingerprint),
    )


def test_file_that_is_missing_or_names_no_server_gives_none(tmp_path: Path) -> None:
    assert read_servers(tmp_path / ".mcp.json", {}) == ()
    assert read_servers(written(tmp_path, {}), {}) == ()
    assert read_servers(written(tmp_path, {"mcpServers": {}}), {}) == ()


@pytest.mark.parametrize(
    ("text", "place"),
    [
        pytest.param('{"mcpServers": {\n  "s": }\n}', "line 2 column 8", id="not-json"),
        pytest.param("", "line 1 column 1", id="empty"),
        pytest.param("[" * 100_000, "recursion", id="nested-without-end"),
        pytest.param("[]", "the top level", id="a-list"),
        pytest.param('{"mcpserver": {}}', "mcpserver", id="unknown-top-word"),
        pytest.param('{"mcpServers": []}', "mcpServers", id="servers-a-list"),
        pytest.param('{"mcpServers": {"s": "x"}}', "mcpServers.s", id="server-a-word"),
        pytest.param('{"mcpServers": {"s": {}}}', "mcpServers.s.command", id="no-command"),
        pytest.param('{"mcpServers": {"s": {"command": ""}}}', "s.command", id="empty-command"),
        pytest.param(
            '{"mcpServers": {"s": {"command": "c", "arg": []}}}', "s.arg ", id="unknown-word"
        ),
        pytest.param(
            '{"mcpServers": {"s": {"command": "c", "args": [8080]}}}', "s.args.0", id="number"
        ),
        pytest.param(
            '{"mcpServers": {"s": {"command": "c"}, "s": {"command": "d"}}}', "'s'", id="twice"
        ),
        pytest.param(
            '{"mcpServers": {"s": {"command": "c", "timeout_seconds": 0}}}',
            "s.timeout_seconds",
            id="no-time",
        ),
    ],
)
def test_file_that_is_broken_names_the_file_the_place_and_what_to_do(
    tmp_path: Path, text: str, place: str
) -> None:
    path = tmp_path / ".mcp.json"
    path.write_text(text, encoding="utf-8")

    with pytest.raises(PersonFault) as caught:
        read_servers(path, {})

    assert str(path) in str(caught.value)
    assert place in str(caught.value)
    assert caught.value.hint == "Mend the file, or move it away to work without MCP servers."


def test_file_that_can_not_be_read_is_not_read_as_empty(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    binary = tmp_path / "binary"
    binary.write_bytes(b"\xff\xfe\x00")

    for path in (folder, binary):
        with pytest.raises(PersonFault, match=path.name):
            read_servers(path, {})


def test_server_with_an_unset_variable_names_it_and_leaves_the_others_alone(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        {
            "mcpServers": {
                "lost": {"command": "c", "env": {"A": "${NO_SUCH}"}},
                "fine": {"command": "c"},
            }
        },
    )

    lost, fine = read_servers(path, {})

    assert lost.fault == (
        "The variable NO_SUCH of its entry is not set. Set it, or write ${NO_SUCH:-…}."
    )
    assert fine.fault == ""


def test_server_with_a_url_says_once_that_http_is_not_supported(tmp_path: Path) -> None:
    fields = {"type": "http", "url": "https://example.org/mcp", "headers": {"A": "${KEY}"}}

    entry = only(tmp_path, fields)

    assert entry.fault.startswith("It is reached by a url, and servers over HTTP are not supported")
    assert entry.command == ""


def test_fingerprint_is_the_same_whatever_the_variables_hold(tmp_path: Path) -> None:
    fields = {"command": "${X}", "args": ["a"], "env": {"T": "${X}"}}

    assert (
        only(tmp_path, fields, X="1").fingerprint
        == only(tmp_path, {**fields, "disabled": True, "timeout_seconds": 9}, X="2").fingerprint
    )


@pytest.mark.parametrize(
    "change",
    [
        {"command": "d"},
        {"args": ["a", "b"]},
        {"args": []},
        {"env": {"T": "1", "U": "1"}},
        {"env": {"T": "--require ./evil.js"}},
        {"cwd": "elsewhere"},
    ],
    ids=repr,
)
def test_fingerprint_changes_with_whatever_changes_what_runs(
    tmp_path: Path, change: dict[str, Any]
) -> None:
    fields: dict[str, Any] = {"command": "c", "args": ["a"], "env": {"T": "1"}}

    before = only(tmp_path, fields).fingerprint
    after = only(tmp_path, {**fields, **change}).fingerprint

    assert before != after


def test_entry_does_not_show_its_secrets_when_it_is_printed(tmp_path: Path) -> None:
    entry = only(
        tmp_path, {"command": "c", "args": ["--key=${K}"], "env": {"T": "${K}"}}, K="s3cr3t-value"
    )

    assert "s3cr3t-value" in entry.env.values()
    assert "s3cr3t" not in repr(entry)

"""One command with the network, asked for each time, in the whole program at a terminal."""

import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.scenarios.programs import (
    assert_nothing_left,
    bash,
    calls,
    commit,
    make_repository,
    make_script,
    skip_without,
    submit,
    worker,
    write,
)
from tests.scenarios.terminals import console

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("sandbox", ["bwrap", "landlock"])
def test_yes_is_for_one_command_and_changes_nothing_else(
    tmp_path: Path, sandbox: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    skip_without(sandbox)
    monkeypatch.setenv("CREWYARD_SANDBOX", sandbox)
    repository = make_repository(tmp_path / "sample", {"README.md": "a sample\n"})
    visits: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            visits.append(self.path)
            self.send_response(200)
            self.end_headers()

        def log_message(self, format: str, *args: Any) -> None:
            """Says nothing."""

    server = HTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    url = f"http://127.0.0.1:{server.server_port}"

    def reaching(path: str) -> dict[str, Any]:
        line = f"python3 fetch.py {path}"
        return {"bash_with_network": {"command": line, "reason": f"it needs {path}"}}

    fetch = f"""\
import pathlib, sys, urllib.request
print(urllib.request.urlopen("{url}" + sys.argv[1]).status)
try:
    pathlib.Path("{repository}/out").write_text("out")
except OSError as error:
    print(type(error).__name__)
"""
    task = {"board_post_task": {"subject": "go out", "description": "x"}}
    spec = make_script(
        tmp_path,
        [
            {"agent": "lead", "turns": [{"call": [task]}, {"say": "Noted."}, {"say": "Landed."}]},
            worker(
                "go out",
                calls(write("fetch.py", fetch), reaching("/no")),
                calls(reaching("/yes"), expect="the person said no"),
                calls(bash("python3 fetch.py /bash"), expect="200"),
                calls(bash("mv fetch.py notes.py"), commit("notes"), expect="urlopen error"),
                calls(submit()),
            ),
        ],
    )
    with console("--model", spec, "--check", "true", cwd=repository) as person:
        person.sees("Say what you want")
        person.say("go")
        person.sees("wants to use bash_with_network", "the worker's reason: it needs /no")
        person.say("n")
        person.sees("bash_with_network was refused", "it needs /yes")
        person.say("y")
        person.sees("has landed as")
        person.say("exit")
        assert person.ends() == 0
    server.shutdown()
    server.server_close()

    assert visits == ["/yes"]
    assert not (repository / "out").exists()
    assert_nothing_left(repository)

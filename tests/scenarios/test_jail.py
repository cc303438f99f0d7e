"""The jail as a whole: nothing gets out of a lane, on disk, over the network, or into a log.

Each attack is first shown to work where nothing guards.
"""

import contextlib
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from modules.records.tasks import TaskDraft
from tests.scenarios.programs import (
    PASSING,
    Ended,
    assert_nothing_left,
    assert_proven,
    bash,
    calls,
    commit,
    crewyard,
    git,
    heard,
    make_repository,
    make_script,
    post,
    salvaged,
    skip_without,
    submit,
    tasks,
    worker,
    write,
    writing,
)

pytestmark = pytest.mark.slow

FILES = {"README.md": "a sample\n"}
KEY = "dummy-key-9d8c7b6a5f4e"


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    return make_repository(tmp_path / "sample", FILES)


@pytest.fixture(params=["bwrap", "landlock"])
def sandbox(request: pytest.FixtureRequest) -> str:
    skip_without(request.param)
    return str(request.param)


class Visited:
    """A web server on loopback that counts its visits."""

    def __init__(self, host: str = "127.0.0.1") -> None:
        self.visits = 0
        visited = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                visited.visits += 1
                self.send_response(200)
                self.end_headers()

            def log_message(self, format: str, *args: Any) -> None:
                """Says nothing."""

        self.server = HTTPServer((host, 0), Handler)
        self.url = f"http://{host}:{self.server.server_port}/"

    @contextlib.contextmanager
    def serving(self) -> Iterator[None]:
        """Answers for as long as the context lasts."""
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()
        yield
        self.server.shutdown()
        self.server.server_close()


@pytest.fixture
def visited() -> Iterator[Visited]:
    site = Visited()
    with site.serving():
        yield site


def work(repository: Path, spec: str, *options: str, **environment: str) -> Ended:
    return crewyard(
        *("work", "--json", "--check", PASSING, "--model", spec, *options),
        cwd=repository,
        environment=environment,
    )


def test_network_is_denied_with_a_reason_and_the_work_goes_on(
    sandbox: str, repository: Path, tmp_path: Path, visited: Visited
) -> None:
    """The gate stops the plain call; one that hides in a program is stopped by the jail."""
    fetch = f"import urllib.request\nurllib.request.urlopen({visited.url!r}, timeout=5)\n"
    subprocess.run([sys.executable, "-c", fetch], timeout=60, check=True)
    assert visited.visits == 1
    spec = make_script(
        tmp_path,
        [
            worker(
                "go out",
                calls(bash(f"curl -s {visited.url}")),
                calls(
                    write("fetch.py", fetch),
                    bash("python3 fetch.py"),
                    expect="Permission denied: .*needs a person's yes",
                ),
                calls(bash("rm fetch.py"), expect="(?s)urlopen error.*exit code 1"),
                calls(write("notes.txt", "no way out\n"), commit("notes")),
                calls(submit()),
            )
        ],
    )
    post(repository, TaskDraft(subject="go out"))

    ended = work(repository, spec, CREWYARD_SANDBOX=sandbox)

    assert ended.code == 0, ended
    assert visited.visits == 1
    assert_proven(repository, ended.document)
    assert_nothing_left(repository)


def test_workers_and_checks_hold_no_more_memory_than_the_person_says(
    sandbox: str, repository: Path, tmp_path: Path, own_environment: Path
) -> None:
    settings = own_environment / "crewyard" / "settings.toml"
    settings.parent.mkdir(exist_ok=True)
    settings.write_text("[sandbox]\nmemory_mb = 512\n")
    spec = make_script(
        tmp_path,
        [
            worker(
                "look",
                calls(bash("echo at most $(ulimit -d)")),
                calls(write("notes.txt", "seen\n"), commit("notes"), expect="at most 524288"),
                calls(submit()),
            )
        ],
    )
    post(repository, TaskDraft(subject="look"))
    check = 'test "$(ulimit -d)" = 524288'

    ended = crewyard(
        *("work", "--json", "--check", check, "--model", spec),
        cwd=repository,
        environment={"CREWYARD_SANDBOX": sandbox},
    )

    assert ended.code == 0, ended
    assert_proven(repository, ended.document)


def test_worker_reaches_the_hosts_its_person_opened_and_no_others(
    repository: Path, tmp_path: Path, own_environment: Path
) -> None:
    skip_without("bwrap")
    opened, shut = Visited("127.0.0.2"), Visited("127.0.0.3")
    settings = own_environment / "crewyard" / "settings.toml"
    settings.parent.mkdir(exist_ok=True)
    settings.write_text(
        f'[sandbox]\nnetwork = "proxy"\nhosts = ["127.0.0.2:{opened.server.server_port}"]\n'
        f'writable = ["{tmp_path}/cache"]\n[web]\nallow = ["127.0.0.0/8"]\n'
    )
    (tmp_path / "cache").mkdir()
    fetch = f"""\
import os, socket, urllib.request
def tried(act):
    try:
        return act()
    except OSError as error:
        return type(error).__name__
print("direct", tried(lambda: socket.create_connection(("127.0.0.2", {opened.server.server_port}))))
for url in ("{opened.url}", "{shut.url}"):
    print(tried(lambda: urllib.request.urlopen(url, timeout=5).status))
print("cache", open("{tmp_path}/cache/kept", "w").write("x"))
"""
    spec = make_script(
        tmp_path,
        [
            worker(
                "go out",
                calls(write("fetch.py", fetch), bash("python3 fetch.py")),
                calls(
                    write("notes.txt", "a way out\n"),
                    bash("rm fetch.py"),
                    commit("notes"),
                    expect="(?s)direct ConnectionRefusedError.*200.*HTTPError.*cache 1",
                ),
                calls(submit()),
            )
        ],
    )
    post(repository, TaskDraft(subject="go out"))

    with opened.serving(), shut.serving():
        ended = work(repository, spec, CREWYARD_SANDBOX="bwrap")

    assert ended.code == 0, ended
    assert (opened.visits, shut.visits) == (1, 0)
    assert (tmp_path / "cache" / "kept").exists()
    assert_proven(repository, ended.document)
    assert_nothing_left(repository)


ATTACK = """\
import pathlib

for place in {places!r}:
    try:
        pathlib.Path(place).parent.mkdir(parents=True, exist_ok=True)
        with open(place, "a") as file:
            file.write("escaped\\n")
    except OSError:
        pass
read = 0
for place in pathlib.Path("/proc").glob("[0-9]*/environ"):
    try:
        read += {halves!r}[0].encode() + {halves!r}[1].encode() in place.read_bytes()
    except OSError:
        pass
print("keys read:", read)
"""


def attack_on(root: Path, home: Path) -> str:
    """Returns a program that writes wherever it can and looks for the lead's key."""
    places = [str(place) for place in places_beyond(root, home)]
    return ATTACK.format(places=places, halves=(KEY[:9], KEY[9:]))


def places_beyond(root: Path, home: Path) -> list[Path]:
    """Returns files that no worker and no check may write."""
    return [
        *(root / name for name in ("README.md", "escaped.txt", ".worktrees/t1-1-neighbour/theirs")),
        *(root / ".git" / name for name in ("config", "hooks/post-checkout", "refs/heads/main")),
        root / ".git/refs/crewyard/landed/main",
        root / ".team/board.jsonl",
        home / ".profile",
        home / "crewyard" / "settings.toml",
    ]


def escaped(root: Path, home: Path) -> list[Path]:
    """Returns the places an attack has written."""
    found = (place for place in places_beyond(root, home) if place.exists())
    return [place for place in found if b"escaped" in place.read_bytes()]


def assert_attack_works_unguarded(folder: Path) -> None:
    root, home = make_repository(folder / "twin", FILES), folder / "twin home"
    done = subprocess.run(
        [sys.executable, "-c", attack_on(root, home)],
        env={**os.environ, "SOME_API_KEY": KEY},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert escaped(root, home) == places_beyond(root, home)
    assert done.stdout != "keys read: 0\n"


def test_worker_gets_nowhere_beyond_its_lane(
    sandbox: str, repository: Path, tmp_path: Path, own_environment: Path
) -> None:
    """A program in the lane, and the file tools, try what they can reach."""
    assert_attack_works_unguarded(tmp_path)
    (own_environment / ".profile").write_text("mine\n")
    config = (repository / ".git" / "config").read_bytes()
    neighbour = calls(write("theirs", "theirs\n"), bash(UNTIL_TRIED))
    spec = make_script(
        tmp_path,
        [
            worker("neighbour", neighbour, calls(commit("theirs")), calls(submit())),
            worker(
                "break out",
                calls(bash(UNTIL_NEIGHBOUR)),
                calls(
                    write("attack.py", attack_on(repository, own_environment)),
                    bash("python3 attack.py"),
                    write("../../escaped.txt", "escaped\n"),
                    write(str(repository / "README.md"), "escaped\n"),
                    bash("git update-ref refs/heads/main HEAD; git config user.name Eve"),
                    bash("git tag tried; git branch tried; rm attack.py"),
                ),
                calls(bash("git commit -q --allow-empty -m tried")),
                calls(submit(no_changes_reason="There was no way out.")),
            ),
        ],
    )
    post(repository, TaskDraft(subject="neighbour"), TaskDraft(subject="break out"))

    ended = work(repository, spec, "--workers", "2", CREWYARD_SANDBOX=sandbox, SOME_API_KEY=KEY)

    assert ended.code == 0, ended
    told = heard(repository, "t2-1-*")
    assert "keys read: 0" in told, told
    assert KEY not in told
    assert escaped(repository, own_environment) == []
    assert (repository / "theirs").read_text() == "theirs\n"
    assert (repository / ".git" / "config").read_bytes() == config
    assert git(repository, "for-each-ref", "--format=%(refname)", "refs/heads", "refs/tags") == (
        "refs/heads/main"
    )
    assert git(repository, "log", "--format=%s %an") == "neighbour Ada\nfirst Ada"
    assert_nothing_left(repository)


UNTIL_NEIGHBOUR = "until git show-ref -q refs/heads/wt/t1-1-neighbour; do sleep 0.05; done"
UNTIL_TRIED = (
    "until git log --format=%s refs/heads/wt/t2-1-break-out | grep -q tried; do sleep 0.05; done"
)


def test_check_runs_in_the_jail_as_well(
    sandbox: str, repository: Path, tmp_path: Path, own_environment: Path
) -> None:
    assert_attack_works_unguarded(tmp_path)
    (own_environment / ".profile").write_text("mine\n")
    spec = make_script(
        tmp_path, [writing("add it", "attack.py", attack_on(repository, own_environment))]
    )
    post(repository, TaskDraft(subject="add it"))

    ended = crewyard(
        *("work", "--json", "--check", "python3 attack.py", "--model", spec),
        cwd=repository,
        environment={"CREWYARD_SANDBOX": sandbox, "SOME_API_KEY": KEY},
    )

    assert ended.code == 0, ended
    (log,) = (repository / ".team" / "checks").glob("*.log")
    assert "keys read: 0" in log.read_text()
    assert escaped(repository, own_environment) == []
    assert_proven(repository, ended.document)
    assert_nothing_left(repository)


@pytest.mark.parametrize(
    ("mode", "can_write", "can_run"),
    [("auto", False, False), ("acceptEdits", True, False), ("yolo", True, True)],
)
def test_without_a_sandbox_agents_ask_unless_told_otherwise(
    mode: str, can_write: bool, can_run: bool, repository: Path, tmp_path: Path
) -> None:
    spec = make_script(
        tmp_path,
        [
            worker(
                "try",
                calls(write("new.txt", "new\n"), bash("python3 -c 'print(6 * 7)'")),
                {"say": "That is all."},
            )
        ],
    )
    post(repository, TaskDraft(subject="try", attempts_allowed=1))

    ended = work(repository, spec, "--mode", mode, CREWYARD_SANDBOX="off")

    assert ended.code == 3, ended
    assert "sandbox is off" in ended.err
    told = heard(repository, "t1-1-*")
    kept = any("new.txt" in names.split() for names in salvaged(repository).values())
    assert kept is can_write
    assert ("42" in told.split("\n")) is can_run
    assert told.count("needs a person's yes") == [can_write, can_run].count(False)
    assert_nothing_left(repository)


def test_machine_without_the_wanted_sandbox_starts_no_worker(
    repository: Path, tmp_path: Path
) -> None:
    spec = make_script(tmp_path, [writing("add it", "new.txt", "new\n")])
    post(repository, TaskDraft(subject="add it"))

    ended = work(repository, spec, CREWYARD_SANDBOX="seatbelt")

    assert ended.code == 2, ended
    assert "CREWYARD_SANDBOX=off" in ended.document["error"]
    (task,) = tasks(repository)
    assert (task["status"], task["landed_as"]) == ("pending", "")
    assert_nothing_left(repository)

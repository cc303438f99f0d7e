"""Importing a module of ours does nothing: no file, no process, no thread, no network, no words."""

import json
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from tests.architecture.test_floors import PROJECT, modules_of_ours, package_of

HEAVY = (
    "anthropic",
    "openai",
    "mcp",
    "pydantic",
    "prompt_toolkit",
    "rich",
    "git",
    "tree_sitter",
    "typer",
    "httpcore2",
    "bs4",
)
WATCH = """
    import _thread, importlib, json, os, sys

    WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_TRUNC
    DEEDS = {
        "os.mkdir", "os.remove", "os.rename", "os.rmdir", "os.symlink", "os.link", "os.truncate",
        "os.chmod", "os.chown", "os.utime", "os.putenv", "os.unsetenv", "os.chdir", "os.kill",
        "tempfile.mkstemp", "tempfile.mkdtemp", "shutil.copyfile", "shutil.move", "shutil.rmtree",
        "subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.spawn", "os.fork",
        "os.forkpty", "pty.spawn", "socket.connect", "socket.bind",
        "socket.getaddrinfo", "socket.gethostbyname", "socket.sendto", "signal.pthread_kill",
        "sqlite3.connect", "webbrowser.open", "builtins.input",
    }
    done = []

    def watch(event, args):
        if event == "open":
            path, mode, flags = args
            writes = set(mode or "") & set("wax+") if isinstance(mode, str) else flags & WRITING
            if writes and path != os.devnull:
                done.append(f"opens {path!r} for writing")
        elif event in DEEDS:
            done.append(f"{event} {args!r}"[:200])

    def begin_thread(*args):
        done.append(f"begins a thread {args!r}"[:200])
        return begin(*args)

    def look(names):
        sys.dont_write_bytecode = True
        sys.addaudithook(watch)
        for name in names:
            done.clear()
            importlib.import_module(name)
            print(json.dumps({"module": name, "done": done, "loaded": sorted(sys.modules)}))

    begin, _thread.start_new_thread = _thread.start_new_thread, begin_thread
    for group in json.load(sys.stdin):
        # Each in a process of its own, forked from one that has imported nothing of ours.
        sys.stdout.flush()
        if os.fork() == 0:
            look(group)
            sys.stdout.flush()
            os._exit(0)
        if os.wait()[1]:
            sys.exit(f"one of {group} can't be imported")
"""


def looked_at(*groups: list[str], folder: Path = PROJECT) -> dict[str, tuple[list[str], set[str]]]:
    """Imports modules, each group afresh; returns what each did and what was loaded then."""
    result = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(WATCH)],
        cwd=folder,
        input=json.dumps(groups),
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    if result.returncode:
        raise AssertionError(result.stderr)
    reports = [json.loads(line) for line in result.stdout.splitlines()]
    return {report["module"]: (report["done"], set(report["loaded"])) for report in reports}


@pytest.mark.slow
def test_importing_any_module_of_ours_does_nothing() -> None:
    packages: dict[str, list[str]] = {}
    for name in modules_of_ours():
        packages.setdefault(package_of(name), []).append(name)

    found = looked_at(*packages.values())

    assert set(found) == set(modules_of_ours())
    assert {name: done for name, (done, _) in found.items() if done} == {}


@pytest.mark.parametrize(
    ("source", "deed"),
    [
        ("open('made', 'w').close()", "opens 'made' for writing"),
        ("import os; os.close(os.open('made', os.O_CREAT))", "opens 'made' for writing"),
        ("import pathlib; pathlib.Path('made').mkdir()", "os.mkdir"),
        ("import subprocess; subprocess.run(['true'])", "subprocess.Popen"),
        ("import os; os.system('true')", "os.system"),
        ("import threading; threading.Thread(target=int).start()", "begins a thread"),
        ("import socket; socket.getaddrinfo('127.0.0.1', 80)", "socket.getaddrinfo"),
        ("import os; os.environ['A'] = 'b'", "os.putenv"),
        ("import os, sys; sys.path.append('x')", ""),
    ],
)
def test_deed_at_import_is_seen(tmp_path: Path, source: str, deed: str) -> None:
    (tmp_path / "doer.py").write_text(source)

    done, _ = looked_at(["doer"], folder=tmp_path)["doer"]

    assert [deed in one for one in done] == ([True] if deed else [])


@pytest.mark.parametrize("name", ["main", "modules.app.worker"])
def test_start_of_a_process_loads_nothing_heavy(name: str) -> None:
    _, loaded = looked_at([name])[name]

    assert name in loaded
    assert [heavy for heavy in HEAVY if heavy in loaded] == []


def test_start_of_the_program_loads_nothing_of_ours_yet() -> None:
    _, loaded = looked_at(["main"])["main"]

    assert {module for module in loaded if module.split(".")[0] in {"modules", "tools"}} == set()
    assert "asyncio" not in loaded

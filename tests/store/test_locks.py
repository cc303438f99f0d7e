"""Locks hold between processes and end with their holder, however it ends."""

import fcntl
import os
import signal
import threading
from pathlib import Path

import pytest

from modules.records.errors import PersonFault
from modules.records.exits import Exit
from modules.store.locks import LeadLock, held, locked, read_lead_pid
from tests.processes import start_python

LEAD = """
    import sys
    from pathlib import Path
    from modules.store.locks import LeadLock

    LeadLock(Path(sys.argv[1])).acquire()
    print("held", flush=True)
    sys.stdin.read()
"""
HOLDER = """
    import sys
    from pathlib import Path
    from modules.store.locks import held

    with held(Path(sys.argv[1]), what="The queue", timeout_seconds=5):
        print("held", flush=True)
        sys.stdin.read()
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "team" / "lead.lock"


def test_locked_keeps_another_process_out_until_it_ends(tmp_path: Path) -> None:
    first = os.open(tmp_path / "file", os.O_RDWR | os.O_CREAT)
    second = os.open(tmp_path / "file", os.O_RDWR)

    with locked(first), pytest.raises(BlockingIOError):
        fcntl.flock(second, fcntl.LOCK_EX | fcntl.LOCK_NB)

    fcntl.flock(second, fcntl.LOCK_EX | fcntl.LOCK_NB)
    os.close(first)
    os.close(second)


def test_lead_lock_names_its_holder_and_is_given_back(path: Path) -> None:
    lock = LeadLock(path)

    assert read_lead_pid(path) is None
    lock.acquire()
    assert read_lead_pid(path) == os.getpid()
    lock.release()
    lock.release()
    assert read_lead_pid(path) is None
    assert path.read_bytes() == b""


def test_second_lead_is_refused_with_the_pid_of_the_first(path: Path) -> None:
    lock = LeadLock(path)
    lock.acquire()

    with pytest.raises(PersonFault, match=rf"\(pid {os.getpid()}\)") as caught:
        LeadLock(path).acquire()

    assert caught.value.exit_code is Exit.USAGE
    assert read_lead_pid(path) == os.getpid()
    lock.release()


def test_deleting_the_lock_lets_no_second_lead_in(path: Path) -> None:
    lock = LeadLock(path)
    lock.acquire()
    path.unlink()
    with path.open("w") as unguarded:
        fcntl.flock(unguarded, fcntl.LOCK_EX | fcntl.LOCK_NB)

    with pytest.raises(PersonFault, match=r"already runs .*\(its lead\.lock was deleted\)"):
        LeadLock(path).acquire()

    lock.release()
    second = LeadLock(path)
    second.acquire()
    second.release()


def test_stale_pid_in_the_file_is_no_lead(path: Path) -> None:
    path.parent.mkdir()
    path.write_text(f"pid {os.getpid()}\n")

    assert read_lead_pid(path) is None
    lock = LeadLock(path)
    lock.acquire()
    lock.release()


def test_look_at_the_lock_in_the_moment_of_start_keeps_no_lead_out(path: Path) -> None:
    path.parent.mkdir()
    path.touch()
    looking = os.open(path, os.O_RDWR)
    fcntl.flock(looking, fcntl.LOCK_SH)
    with pytest.raises(BlockingIOError), path.open("r+") as unguarded:
        fcntl.flock(unguarded, fcntl.LOCK_EX | fcntl.LOCK_NB)

    timer = threading.Timer(0.02, os.close, [looking])
    timer.start()
    lock = LeadLock(path)
    lock.acquire()
    timer.join()

    assert read_lead_pid(path) == os.getpid()
    lock.release()


def test_two_who_look_take_neither_for_a_lead(path: Path) -> None:
    path.parent.mkdir()
    path.touch()
    with path.open("r+") as looking:
        fcntl.flock(looking, fcntl.LOCK_SH)

        assert read_lead_pid(path) is None


def test_link_in_the_locks_place_costs_no_file_elsewhere(path: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.write_text("the person's own")
    path.parent.mkdir()
    path.symlink_to(elsewhere)
    with path.open("r+") as unguarded:
        unguarded.truncate(0)
    assert elsewhere.read_text() == ""
    elsewhere.write_text("the person's own")

    with pytest.raises(PersonFault, match="can't be opened"):
        LeadLock(path).acquire()

    assert elsewhere.read_text() == "the person's own"


@pytest.mark.slow
def test_lead_that_is_killed_leaves_the_lock_free(path: Path) -> None:
    lead = start_python(LEAD, path)
    assert lead.stdout is not None
    assert lead.stdout.readline() == "held\n"
    with pytest.raises(PersonFault, match=f"pid {lead.pid}"):
        LeadLock(path).acquire()
    assert read_lead_pid(path) == lead.pid

    os.killpg(lead.pid, signal.SIGKILL)
    lead.communicate()

    assert read_lead_pid(path) is None
    lock = LeadLock(path)
    lock.acquire()
    lock.release()


@pytest.mark.slow
def test_coarse_lock_is_waited_for_and_then_told_of(tmp_path: Path) -> None:
    path = tmp_path / "team" / "queue.lock"
    holder = start_python(HOLDER, path)
    assert holder.stdout is not None
    assert holder.stdout.readline() == "held\n"

    with (
        pytest.raises(PersonFault, match="The queue is held by another process") as caught,
        held(path, what="The queue", timeout_seconds=0.05),
    ):
        pass
    os.killpg(holder.pid, signal.SIGKILL)
    holder.communicate()

    assert caught.value.exit_code is Exit.USAGE
    with held(path, what="The queue", timeout_seconds=5):
        pass

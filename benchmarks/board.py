"""Measures claims on the task board, beside SQLite (WAL) and the bare fsync of an append.

Run: python -m benchmarks.board
Every figure is of one run on one machine; compare columns, not machines.
"""

import json
import os
import sqlite3
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from multiprocessing import get_context
from multiprocessing.synchronize import Barrier
from pathlib import Path

from modules.records.tasks import TaskDraft
from modules.store.paths import Paths
from modules.team.task_board import TaskBoard

CLAIMS = 800
PROCESSES = (1, 2, 4, 8)
SIZES = (100, 1_000, 10_000)
LEASE = timedelta(minutes=2)
Claim = Callable[[], bool]


def main() -> None:
    """Prints all tables."""
    print(f"bare append + fsync: {_bare_fsync() * 1e6:.0f} µs")
    print(f"\nclaims a second, {CLAIMS} tasks   ours   sqlite wal full   sqlite wal normal")
    for processes in PROCESSES:
        rates = [
            _claim_rate(make, processes) for make in (_our_board, _sqlite_full, _sqlite_normal)
        ]
        print(f"{processes:2} processes        " + "".join(f"{rate:15.0f}" for rate in rates))
    print("\nboard of           load      one claim   one claim, all but 100 finished")
    for size in SIZES:
        print(f"{size:6} tasks   " + _growth(size))


def _bare_fsync() -> float:
    with tempfile.TemporaryDirectory() as folder:
        descriptor = os.open(Path(folder) / "file", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        times = []
        for _ in range(300):
            began = time.perf_counter()
            os.write(descriptor, b"x" * 200)
            os.fsync(descriptor)
            times.append(time.perf_counter() - began)
        os.close(descriptor)
    return statistics.median(times)


def _claim_rate(make: Callable[[Path, str], Claim], processes: int) -> float:
    """Returns claims a second of `processes` that take all tasks of one board."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _fill(folder, CLAIMS)
        context = get_context("fork")
        barrier = context.Barrier(processes + 1)
        workers = [
            context.Process(target=_take_all, args=(make, folder, f"w{number}", barrier))
            for number in range(processes)
        ]
        for worker in workers:
            worker.start()
        barrier.wait()
        began = time.perf_counter()
        for worker in workers:
            worker.join()
        return CLAIMS / (time.perf_counter() - began)


def _take_all(
    make: Callable[[Path, str], Claim], folder: Path, worker: str, barrier: Barrier
) -> None:
    claim = make(folder, worker)
    barrier.wait()
    while claim():
        pass


def _fill(folder: Path, count: int) -> None:
    board = _board(folder)
    board.add_all([TaskDraft(subject=f"task {number}") for number in range(count)], by="bench")
    with sqlite3.connect(folder / "board.db") as database:
        database.execute("pragma journal_mode = wal")
        database.execute(
            "create table task (id integer primary key, status text, worker text, body text)"
        )
        database.execute("create index by_status on task (status, id)")
        body = json.dumps({"subject": "task", "description": "x" * 100})
        database.executemany(
            "insert into task (status, worker, body) values ('pending', '', ?)",
            [(body,)] * count,
        )


def _board(folder: Path) -> TaskBoard:
    return TaskBoard(Paths(folder), clock=lambda: datetime.now(UTC))


def _our_board(folder: Path, worker: str) -> Claim:
    board = _board(folder)
    board.refresh()
    return lambda: board.claim(worker=worker, role="", lease=LEASE) is not None


def _sqlite_full(folder: Path, worker: str) -> Claim:
    return _sqlite(folder, worker, "full")


def _sqlite_normal(folder: Path, worker: str) -> Claim:
    return _sqlite(folder, worker, "normal")


def _sqlite(folder: Path, worker: str, synchronous: str) -> Claim:
    database = sqlite3.connect(folder / "board.db", timeout=60, isolation_level=None)
    database.execute(f"pragma synchronous = {synchronous}")
    statement = (
        "update task set status = 'in_progress', worker = ? where id = "
        "(select id from task where status = 'pending' order by id limit 1) returning id"
    )

    def claim() -> bool:
        database.execute("begin immediate")
        row = database.execute(statement, (worker,)).fetchone()
        database.execute("commit")
        return row is not None

    return claim


def _growth(size: int) -> str:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _board(folder).add_all(
            [TaskDraft(subject=f"task {number}") for number in range(size)], by="bench"
        )
        began = time.perf_counter()
        board = _board(folder)
        board.refresh()
        loaded = time.perf_counter() - began
        fresh = statistics.median(_timed_claims(board, 30))
        open_tasks = [task.task_id for task in board.tasks() if task.status == "pending"]
        for task_id in open_tasks[100:]:
            board.cancel(task_id, reason="finished", by="bench")
        finished = statistics.median(_timed_claims(board, 30))
    return f"{loaded * 1e3:8.0f} ms {fresh * 1e6:10.0f} µs {finished * 1e6:15.0f} µs"


def _timed_claims(board: TaskBoard, count: int) -> Iterator[float]:
    for _ in range(count):
        began = time.perf_counter()
        board.claim(worker="w", role="", lease=LEASE)
        yield time.perf_counter() - began


if __name__ == "__main__":
    main()

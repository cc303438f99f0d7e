"""Measures what journals of conversations cost the event loop they share with the console.

Run: python -m benchmarks.sessions [FOLDER]
Agents keep messages side by side, each on disk before it goes on. How late a timer of the loop
comes meanwhile is how late a typed letter shows. FOLDER is where the journals are made; it should
lie on a real disk. Every figure is of one run on one machine; compare rows, not machines.
"""

import asyncio
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path

from modules.context.session import Session
from modules.records.messages import Message, said
from modules.records.session_records import AnySessionRecord, MessageKept
from modules.store.journal import Journal

AGENTS = (1, 8, 16)
MESSAGES = 60
"""Of each agent."""
CHARACTERS = 3_000
THINKING_SECONDS = 0.01
TICK_SECONDS = 0.002
Keep = Callable[[Message], Awaitable[None]]


def main() -> None:
    """Prints the table."""
    where = sys.argv[1] if len(sys.argv) > 1 else None
    print(f"{'':28}lateness of a timer, ms       messages")
    print(f"{'':28}median    99 %     most       a second")
    for agents in AGENTS:
        for name, make in (("fsync on the loop", _on_the_loop), ("ours", _ours)):
            with tempfile.TemporaryDirectory(dir=where) as folder:
                late, rate = asyncio.run(_measured(make, Path(folder), agents))
            figures = "".join(f"{_share(late, share) * 1e3:9.2f}" for share in (0.5, 0.99, 1.0))
            print(f"{agents:2} agents, {name:14}{figures}   {rate:10.0f}")


async def _measured(
    make: Callable[[Path], Keep], folder: Path, agents: int
) -> tuple[list[float], float]:
    late: list[float] = []

    async def tick() -> None:
        while True:
            due = time.perf_counter() + TICK_SECONDS
            await asyncio.sleep(TICK_SECONDS)
            late.append(time.perf_counter() - due)

    async def agent(keep: Keep) -> None:
        for _ in range(MESSAGES):
            await keep(said("x" * CHARACTERS))
            await asyncio.sleep(THINKING_SECONDS)

    ticking = asyncio.create_task(tick())
    began = time.perf_counter()
    await asyncio.gather(*(agent(make(folder / f"{number}.jsonl")) for number in range(agents)))
    seconds = time.perf_counter() - began
    ticking.cancel()
    return sorted(late), agents * MESSAGES / seconds


def _share(late: list[float], share: float) -> float:
    return late[min(len(late) - 1, int(len(late) * share))]


def _ours(path: Path) -> Keep:
    return Session(path, clock=lambda: datetime.now(UTC)).keep


def _on_the_loop(path: Path) -> Keep:
    journal: Journal[AnySessionRecord] = Journal(path, AnySessionRecord, apply=lambda record: None)

    async def keep(message: Message) -> None:
        journal.append(lambda: [MessageKept(at=datetime.now(UTC), message=message)])

    return keep


if __name__ == "__main__":
    main()

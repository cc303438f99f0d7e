"""A lander whose checks are told by the test: it says how each ends, and when."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

from modules.git.repository import Repository
from modules.records.merges import CheckOutcome, Entry, EntryStatus, Receipt, Strategy
from modules.team.lander import Lander
from modules.team.probe_pace import Limits, limits_for
from modules.team.probes import Probes
from modules.team.proof import Job, Proof
from modules.team.publish import Publisher
from modules.team.queue_log import QueueLog
from tests.team.queue_case import CHECK, QueueCase

PASSED, FAILED = CheckOutcome.PASSED, CheckOutcome.FAILED
Names = frozenset[str]


def broken(names: Names) -> CheckOutcome:
    """The outcome of CHECK on a tree of these files."""
    return FAILED if "broken" in names else PASSED


@dataclass
class ToldProver:
    """A prover that runs nothing."""

    repository: Repository
    outcome: Callable[[Names], CheckOutcome | tuple[str, ...]] = broken
    """The end of a check on a tree of these files; the names of tests that failed are FAILED."""
    holds: Callable[[Names], bool] = lambda names: False
    """True for trees whose check ends only once it is let go."""
    cpu_seconds: float | None = 0.0
    ran: list[list[str]] = field(default_factory=list)
    """The files of each tree that was checked, in the order the checks began."""
    commands: list[tuple[str, ...]] = field(default_factory=list)
    stopped: list[list[str]] = field(default_factory=list)
    most_at_once: int = 0
    _under_way: dict[int, Names] = field(default_factory=dict)
    _let_go: dict[int, asyncio.Event] = field(default_factory=dict)

    async def prove(self, job: Job) -> Proof:
        """Ends as told."""
        listed = self.repository.git.fields("ls-tree", "-r", "-z", "--name-only", job.commit)
        names = frozenset(listed)
        assert job.lane not in self._under_way
        self._under_way[job.lane] = names
        self.most_at_once = max(self.most_at_once, len(self._under_way))
        self.ran.append(shown(names))
        self.commands.append(job.commands)
        try:
            if self.holds(names):
                self._let_go[job.lane] = asyncio.Event()
                await self._let_go[job.lane].wait()
            return self._proof(job, names)
        except asyncio.CancelledError:
            self.stopped.append(shown(names))
            raise
        finally:
            del self._under_way[job.lane]

    def under_way(self) -> list[list[str]]:
        """Returns the files of the trees being checked now."""
        return sorted(shown(names) for names in self._under_way.values())

    def let_go(self) -> None:
        """Ends all checks that are held."""
        self.holds = lambda names: False
        for event in self._let_go.values():
            event.set()

    def _proof(self, job: Job, names: Names) -> Proof:
        told = self.outcome(names)
        tests, outcome = (told, FAILED) if isinstance(told, tuple) else ((), told)
        receipt = Receipt(
            tree=job.tree,
            command=" && ".join(job.commands) if outcome is PASSED else job.commands[0],
            outcome=outcome,
            exit_code=0 if outcome is PASSED else 1,
            seconds=1.0,
            log=f".team/checks/{job.log.name}",
        )
        return Proof(receipt, failed_tests=tests, cpu_seconds=self.cpu_seconds)


def shown(names: Names) -> list[str]:
    """Returns the files that entries brought, without those of the first commit."""
    return sorted(names - {"a.txt", "b.txt"})


class LanderCase:
    """A lander on the queue of a case, and the case itself to submit to."""

    def __init__(
        self,
        case: QueueCase,
        *,
        check: str = CHECK,
        cores: int = 2,
        limits: Limits | None = None,
        proves_each: bool = False,
    ) -> None:
        self.case = case
        self.prover = ToldProver(case.repository)
        self.log = QueueLog(case.repository.paths, clock=case.clock, on_change=lambda entry: None)
        self.lander = Lander(
            case.repository,
            self.log,
            Publisher(case.repository, self.log, step=lambda name: None),
            Probes(
                self.prover,
                logs=case.repository.paths.checks,
                cores=cores,
                limits=limits or limits_for(cores),
            ),
            check=check,
            strategy=Strategy.SQUASH,
            proves_each=proves_each,
            may_land=lambda entry: self.case.may_land(entry),
            step=lambda name: None,
        )

    def submit(self, *files: str) -> None:
        """Submits one entry for each file; task and entry have the same number."""
        for name in files:
            number = len(self.case.queue.entries()) + 1
            self.case.submit(number, {name: f"{name}\n"})

    async def drain(self) -> list[tuple[int, str]]:
        """Takes all entries to their ends; returns them and their statuses in that order."""
        ended = []
        while (entry := await self.lander.land_next()) is not None:
            ended.append((entry.entry_id, str(entry.status)))
        return ended

    def drained(self) -> list[tuple[int, str]]:
        """Takes all entries to their ends, in an event loop of its own."""
        return asyncio.run(self.drain())

    def entry(self, entry_id: int) -> Entry:
        """Returns an entry as it stands."""
        return self.log.state.entries[entry_id]

    def statuses(self) -> list[EntryStatus]:
        """Returns the statuses of all entries, oldest first."""
        return [entry.status for entry in self.log.entries()]


async def until(is_so: Callable[[], bool]) -> None:
    """Lets other tasks run until `is_so`."""
    async with asyncio.timeout(20):
        while not is_so():
            await asyncio.sleep(0.001)

"""The merge queue: the only door to the target branch.

What may enter is decided in intake and submission, what lands and how in lander; the rules of both
are in merge_rules.
"""

import asyncio
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from datetime import datetime
from pathlib import Path

from modules.git.check_tree import end_left_over_git
from modules.git.refs import is_ancestor, merge_base
from modules.git.repository import Repository, exclude_own_folders
from modules.git.signing import try_signing
from modules.records.merges import Entry, EntryStatus, Strategy, Submission
from modules.records.settings import LaneSettings
from modules.store.locks import held
from modules.team.check import Wrap, end_left_over_checks
from modules.team.intake import Intake, QueueRefusal
from modules.team.lander import Lander
from modules.team.pins import let_go
from modules.team.preparation import Preparation
from modules.team.probe_pace import Limits, limits_for
from modules.team.probes import Probes
from modules.team.proof import TreeProver
from modules.team.publish import Publisher
from modules.team.queue_log import QueueLog
from modules.team.review_ledger import ReviewLedger

_LOCK_SECONDS = 2.0


class MergeQueue:
    """The queue of one target branch.

    `check` is the command that must pass; empty, nothing lands. With `proves_each` it must pass on
    every commit that lands, else on what each landing ends with. `may_land` is asked before a check
    and again before a landing, and says why an entry may not. `on_change` is called with an entry
    after each of its changes, `on_log` in some thread with the log of each check that ended, before
    anything is made of it. `step` is called before each step of a landing with its name.
    """

    def __init__(
        self,
        repository: Repository,
        *,
        check: str,
        check_timeout_seconds: float,
        strategy: Strategy = Strategy.SQUASH,
        proves_each: bool = False,
        clock: Callable[[], datetime],
        environment: Mapping[str, str],
        cores: int = 2,
        limits: Limits | None = None,
        wrap: Wrap = lambda argv, folder, scratch: argv,
        preparation: Preparation | None = None,
        on_change: Callable[[Entry], None] = lambda entry: None,
        on_log: Callable[[Path], None] = lambda log: None,
        may_land: Callable[[Entry], str | None] = lambda entry: None,
        step: Callable[[str], None] = lambda name: None,
    ) -> None:
        self._repository = repository
        self._git = repository.git
        self._clock = clock
        self._log = QueueLog(repository.paths, clock=clock, on_change=on_change)
        self.reviews = ReviewLedger(self._log)
        self._publisher = Publisher(repository, self._log, step=step)
        prover = TreeProver(
            repository,
            timeout_seconds=check_timeout_seconds,
            environment=environment,
            wrap=wrap,
            preparation=preparation or Preparation(repository, LaneSettings()),
            on_log=on_log,
        )
        self._lander = Lander(
            repository,
            self._log,
            self._publisher,
            Probes(
                prover,
                logs=repository.paths.checks,
                cores=cores,
                limits=limits or limits_for(cores),
            ),
            check=check,
            strategy=strategy,
            proves_each=proves_each,
            may_land=may_land,
            step=step,
        )
        self._intake = Intake(repository, self._log, self._publisher, stir=self._lander.stir)
        self._turn = asyncio.Lock()
        self._held = ExitStack()
        """The queue's lock, while checks run."""

    @property
    def target(self) -> str:
        """Name of the target branch."""
        return self._repository.target

    @property
    def landed(self) -> str:
        """The commit that has landed last."""
        return self._publisher.landed

    @property
    def landed_ref(self) -> str:
        """Full name of the ref that says what has landed."""
        return self._publisher.landed_ref

    @property
    def pause_reason(self) -> str:
        """Why no entry can land now; empty when one can, or none waits."""
        return self._lander.pause_reason

    @property
    def alarm(self) -> str:
        """How what has landed fails the check by itself; empty when it isn't known to."""
        return self._lander.alarm

    @property
    def retry_seconds(self) -> float | None:
        """How long until `land_next` should be called though nothing changed; None for never."""
        return self._lander.retry_seconds

    @property
    def hold_reason(self) -> str:
        """Why the target branch does not follow what has landed; empty when it does."""
        return self._lander.joining_problem or self._publisher.held

    @property
    def skipped_lines(self) -> int:
        """Lines of the journal that could not be read."""
        return self._log.skipped_lines

    def refresh(self) -> None:
        """Takes in what other processes wrote, and looks at tasks and branches anew."""
        self._log.catch_up()
        self._lander.stir()

    def entries(self) -> list[Entry]:
        """Returns all entries, oldest first."""
        return self._log.entries()

    def entry(self, entry_id: int) -> Entry:
        """Returns one entry; raises QueueRefusal when there is none of that id."""
        return self._intake.entry(entry_id)

    def entry_of_task(self, task: int) -> Entry:
        """Returns the newest entry of a task; raises QueueRefusal when it has none."""
        found = [entry for entry in self.entries() if entry.submission.task == task]
        if not found:
            raise QueueRefusal(f"Task {task} has brought nothing to the merge queue.")
        return found[-1]

    def has_landed(self, commit: str) -> bool:
        """True for a submitted commit that landed, be it in another shape."""
        return any(
            entry.status is EntryStatus.MERGED and entry.submission.commit == commit
            for entry in self.entries()
        )

    def diff(self, work: Submission) -> str:
        """Returns what a submission changes, as a patch; blocks."""
        commit, landed = work.commit, self.landed
        fork = merge_base(self._git, landed, commit)
        if not fork or is_ancestor(self._git, commit, landed):
            fork = work.base
        stdout = self._git.run("diff", "--stat", "--patch", fork, commit).stdout
        return stdout.decode("utf-8", "replace")

    def submit(self, submission: Submission) -> Entry:
        """Pins a commit and queues it; the entry comes back ended when it would change nothing.

        Blocks; may run in any thread. Raises ModelFault, which says what to do, for a submission
        that may not be queued.
        """
        return self._intake.submit(submission)

    def approve(self, submission: Submission, *, by: str) -> Entry:
        """Approves work that waits for a review and queues it, both or neither; blocks.

        Raises QueueRefusal when it waits no longer, and ModelFault like `submit`.
        """
        return self._intake.approve(submission, by=by)

    def revert(self, entry_id: int) -> Entry:
        """Queues the opposite of what an entry landed as, with the highest priority; blocks."""
        return self._intake.revert(entry_id)

    def retry(self, entry_id: int) -> Entry:
        """Puts an entry back in the queue; raises QueueRefusal when its end is for good."""
        return self._intake.retry(entry_id)

    def reject(self, entry_id: int, reason: str) -> Entry:
        """Takes an open entry out; raises QueueRefusal when it is landing or came to its end."""
        return self._intake.reject(entry_id, reason)

    def recover(self) -> None:
        """Makes good whatever a killed run left half done; done once at start; blocks."""
        exclude_own_folders(self._repository)
        if (signing := self._repository.signing) is not None:
            try_signing(self._git, signing, temporary=self._repository.paths.temporary)
        with self._locked():
            end_left_over_git(self._repository)
            end_left_over_checks(self._repository.paths.lanes)
            self._lander.recover()
            let_go(self._git, self.entries(), now=self._clock())

    async def land_next(self) -> Entry | None:
        """Returns the next entry that came to its end; many are checked and landed at once.

        Returns None when none can be taken up: there is none, or `pause_reason` says why not. An
        entry that waits for something else to land comes back queued. Checks go on when it has
        returned; it has to be called again, or `stop`.
        """
        self._log.join_loop()
        async with self._turn:
            self._hold()
            try:
                return await self._lander.land_next()
            finally:
                if not self._lander.is_at_work:
                    self._held.close()

    async def stop(self) -> None:
        """Stops all checks; their entries are checked again by whoever goes on."""
        async with self._turn:
            await self._lander.stop()
            self._held.close()

    def _hold(self) -> None:
        """Takes the queue's lock, unless checks of before still run under it."""
        if not self._lander.is_at_work:
            self._held.close()
            self._held.enter_context(self._locked())

    @contextmanager
    def _locked(self) -> Iterator[None]:
        lock = self._repository.paths.queue_lock
        with held(lock, what="The merge queue", timeout_seconds=_LOCK_SECONDS):
            yield

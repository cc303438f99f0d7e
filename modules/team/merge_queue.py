"""The merge queue: the only door to the target branch.

What may enter is decided here and in submission, what lands and how in lander; the rules of both
are in merge_rules.
"""

import asyncio
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from datetime import datetime
from pathlib import Path

from modules.git.check_tree import end_left_over_git
from modules.git.merging import join, revert
from modules.git.refs import ENTRIES, durable, is_ancestor, merge_base, move_ref, read_refs, tree_of
from modules.git.repository import Repository, exclude_own_folders
from modules.git.signing import try_signing
from modules.records.errors import CrewyardError, ModelFault
from modules.records.merges import Entry, EntryStatus, Strategy, Submission
from modules.records.queue_records import (
    NO_TASK,
    AnyQueueRecord,
    EntryReturned,
    EntrySettled,
    EntrySubmitted,
)
from modules.store.locks import held
from modules.team.check import Wrap, end_left_over_checks
from modules.team.lander import Lander
from modules.team.merge_rules import refused_before, superseded
from modules.team.pins import let_go
from modules.team.probe_pace import Limits, limits_for
from modules.team.probes import Probes
from modules.team.proof import TreeProver
from modules.team.publish import Publisher
from modules.team.queue_log import QueueLog
from modules.team.queue_state import can_move
from modules.team.submission import Examined, examine

_LOCK_SECONDS = 2.0


class QueueRefusal(CrewyardError):
    """The queue's rules do not allow a change; the message says why."""


class MergeQueue:
    """The queue of one target branch.

    `check` is the command that must pass; empty, nothing lands. `may_land` is asked before a check
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
        clock: Callable[[], datetime],
        environment: Mapping[str, str],
        cores: int = 2,
        limits: Limits | None = None,
        wrap: Wrap = lambda argv, folder, scratch: argv,
        on_change: Callable[[Entry], None] = lambda entry: None,
        on_log: Callable[[Path], None] = lambda log: None,
        may_land: Callable[[Entry], str | None] = lambda entry: None,
        step: Callable[[str], None] = lambda name: None,
    ) -> None:
        self._repository = repository
        self._git = repository.git
        self._clock = clock
        self._log = QueueLog(repository.paths, clock=clock, on_change=on_change)
        self._publisher = Publisher(repository, self._log, step=step)
        prover = TreeProver(
            repository,
            timeout_seconds=check_timeout_seconds,
            environment=environment,
            wrap=wrap,
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
            may_land=may_land,
            step=step,
        )
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
        found = self._log.state.entries.get(entry_id)
        if found is None:
            raise QueueRefusal(f"There is no entry {entry_id} in the merge queue.")
        return found

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

    def diff(self, entry: Entry) -> str:
        """Returns what an entry changes, as a patch; blocks."""
        commit, landed = entry.submission.commit, self.landed
        fork = merge_base(self._git, landed, commit)
        if not fork or is_ancestor(self._git, commit, landed):
            fork = entry.submission.base
        stdout = self._git.run("diff", "--stat", "--patch", fork, commit).stdout
        return stdout.decode("utf-8", "replace")

    def submit(self, submission: Submission) -> Entry:
        """Pins a commit and queues it; the entry comes back ended when it would change nothing.

        Blocks; may run in any thread. Raises ModelFault, which says what to do, for a submission
        that may not be queued.
        """
        self._log.catch_up()
        refused = refused_before(self.entries(), task=submission.task, commit=submission.commit)
        if refused is not None:
            raise ModelFault(
                f"This very commit was refused before: {refused.reason} Make a new commit and "
                "submit that."
            )
        examined = examine(
            self._repository, submission, landed=self.landed, merged=self._merged_pins()
        )
        return self._enter(submission, examined)

    def revert(self, entry_id: int) -> Entry:
        """Queues the opposite of what an entry landed as, with the highest priority; blocks."""
        entry = self.entry(entry_id)
        if entry.status is not EntryStatus.MERGED:
            raise QueueRefusal(f"Entry {entry_id} is {entry.status}; only a landing is reverted.")
        landed, now = self.landed, self._clock()
        onto = entry.landed_onto or f"{entry.landed_as}^1"
        merged = revert(self._repository, landed, entry.landed_as, onto=onto, when=now)
        if merged.clashes:
            paths = ", ".join(repr(clash.path) for clash in merged.clashes)
            raise QueueRefusal(f"What landed since builds on entry {entry_id} ({paths}).")
        subject = f'Revert "{entry.submission.subject}"'
        commit = join(self._git, tree=merged.tree, parents=(landed,), message=subject, when=now)
        is_nothing = merged.tree == tree_of(self._git, landed)
        return self._enter(
            Submission(
                task=NO_TASK,
                subject=subject,
                attempt=0,
                generation=0,
                worker="",
                branch="",
                commit=commit,
                base=landed,
                summary=f"This reverts commit {entry.landed_as}.",
                files=entry.submission.files,
                priority=0,
            ),
            Examined(landed, "It is reverted already." if is_nothing else ""),
        )

    def retry(self, entry_id: int) -> Entry:
        """Puts an entry back in the queue; raises QueueRefusal when its end is for good."""

        def decide() -> list[AnyQueueRecord]:
            entry = self.entry(entry_id)
            if entry.status is EntryStatus.CHECKING:
                return []
            if not can_move(entry.status, EntryStatus.QUEUED):
                raise QueueRefusal(f"Entry {entry_id} is {entry.status}; that is its end.")
            others = self._log.state.open_entries(self.target)
            newer = [e for e in superseded(others, task=entry.submission.task) if e != entry]
            if newer:
                raise QueueRefusal(
                    f"Task {entry.submission.task} has a newer entry, {newer[-1].entry_id}."
                )
            return [EntryReturned(at=self._clock(), entry_id=entry_id, reason="retried")]

        self._log.write(decide)
        self._lander.stir()
        return self.entry(entry_id)

    def reject(self, entry_id: int, reason: str) -> Entry:
        """Takes an open entry out; raises QueueRefusal when it is landing or came to its end."""

        def decide() -> list[AnyQueueRecord]:
            entry = self.entry(entry_id)
            if self._log.state.is_landing(entry_id):
                raise QueueRefusal(f"Entry {entry_id} is landing; that can't be stopped.")
            if not can_move(entry.status, EntryStatus.REJECTED):
                raise QueueRefusal(f"Entry {entry_id} is {entry.status} already.")
            return [self._ended(entry_id, EntryStatus.REJECTED, reason)]

        self._log.write(decide)
        self._lander.stir()
        return self.entry(entry_id)

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

    def _enter(self, submission: Submission, examined: Examined) -> Entry:
        entered: list[int] = []

        def decide() -> list[AnyQueueRecord]:
            entry_id = self._pin(submission.commit)
            entered.append(entry_id)
            open_entries = self._log.state.open_entries(self.target)
            records: list[AnyQueueRecord] = [
                self._ended(old.entry_id, EntryStatus.REJECTED, f"Entry {entry_id} replaces it.")
                for old in superseded(open_entries, task=submission.task)
            ]
            records.append(
                EntrySubmitted(
                    at=self._clock(),
                    entry_id=entry_id,
                    target=self.target,
                    submission=submission,
                    fork=examined.fork,
                )
            )
            if why := examined.nothing_new:
                records.append(self._ended(entry_id, EntryStatus.NO_CHANGES, why))
            return records

        self._log.write(decide)
        self._lander.stir()
        return self.entry(entered[0])

    def _pin(self, commit: str) -> int:
        """Keeps a commit from being collected; returns the new entry's id."""
        # A journal that was lost leaves pins behind; their ids aren't given out again.
        pinned = [int(ref.removeprefix(ENTRIES)) for ref in read_refs(self._git, ENTRIES)]
        entry_id = max([self._log.state.next_id, *(number + 1 for number in pinned)])
        move_ref(durable(self._git), f"{ENTRIES}{entry_id}", new=commit, old="")
        return entry_id

    def _merged_pins(self) -> list[str]:
        pins = read_refs(self._git, ENTRIES)
        merged = (e for e in self.entries() if e.status is EntryStatus.MERGED)
        return [pins[ref] for e in merged if (ref := f"{ENTRIES}{e.entry_id}") in pins]

    def _ended(self, entry_id: int, status: EntryStatus, reason: str) -> EntrySettled:
        return EntrySettled(at=self._clock(), entry_id=entry_id, status=status, reason=reason)

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

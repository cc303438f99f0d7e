"""Decides on the entries of the merge queue: which come in, back, or out.

Everything is decided on the newest state, under the lock of the queue's journal; so another shell
may do it beside a running lead.
"""

from collections.abc import Callable, Sequence

from modules.git.merging import join, revert
from modules.git.refs import (
    ENTRIES,
    durable,
    is_ancestor,
    move_ref,
    read_commit,
    read_refs,
    tree_of,
)
from modules.git.repository import Repository
from modules.records.errors import CrewyardError, ModelFault
from modules.records.merges import Entry, EntryStatus, Submission
from modules.records.queue_records import (
    NO_TASK,
    AnyQueueRecord,
    EntryReturned,
    EntrySettled,
    EntrySubmitted,
    ReviewGiven,
)
from modules.team.merge_rules import refused_before, superseded
from modules.team.publish import Publisher
from modules.team.queue_log import QueueLog
from modules.team.queue_state import can_move
from modules.team.review_ledger import counted
from modules.team.submission import Examined, examine


class QueueRefusal(CrewyardError):
    """The queue's rules do not allow a change; the message says why."""


class Intake:
    """What may be done to the entries of one target by hand; `stir` is called after each change."""

    def __init__(
        self,
        repository: Repository,
        log: QueueLog,
        publisher: Publisher,
        *,
        stir: Callable[[], None],
    ) -> None:
        self._repository = repository
        self._git = repository.git
        self._log = log
        self._publisher = publisher
        self._stir = stir

    def entry(self, entry_id: int) -> Entry:
        """Returns one entry; raises QueueRefusal when there is none of that id."""
        found = self._log.state.entries.get(entry_id)
        if found is None:
            raise QueueRefusal(f"There is no entry {entry_id} in the merge queue.")
        return found

    def submit(self, submission: Submission) -> Entry:
        """Pins a commit and queues it; the entry comes back ended when it would change nothing.

        Blocks; may run in any thread. Raises ModelFault, which says what to do, for a submission
        that may not be queued.
        """
        return self._enter(submission, self._examined(submission), first=lambda: ())

    def approve(self, submission: Submission, *, by: str) -> Entry:
        """Approves work that waits for a review and queues it, both or neither; blocks.

        Raises QueueRefusal when it waits no longer, and ModelFault like `submit`.
        """
        task, commit = submission.task, submission.commit

        def approval() -> Sequence[AnyQueueRecord]:
            given = ReviewGiven(at=self._log.clock(), task=task, commit=commit, accepts=True, by=by)
            records = counted(self._log.state, given)
            if not records:
                before = self._log.state.answers.get((task, commit))
                who = before.by if before else "other work"
                raise QueueRefusal(f"Task {task} was answered by {who} meanwhile.")
            return records

        return self._enter(submission, self._examined(submission), first=approval)

    def _examined(self, submission: Submission) -> Examined:
        self._log.catch_up()
        refused = refused_before(
            self._log.entries(), task=submission.task, commit=submission.commit
        )
        if refused is not None:
            raise ModelFault(
                f"This very commit was refused before: {refused.reason} Make a new commit and "
                "submit that."
            )
        self._refuse_taken_back(submission)
        return examine(
            self._repository, submission, landed=self._publisher.landed, merged=self._merged_pins()
        )

    def revert(self, entry_id: int) -> Entry:
        """Queues the opposite of what an entry landed as, with the highest priority; blocks."""
        entry = self.entry(entry_id)
        if entry.status is not EntryStatus.MERGED:
            raise QueueRefusal(f"Entry {entry_id} is {entry.status}; only a landing is reverted.")
        landed, now = self._publisher.landed, self._log.clock()
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
                reverts=entry_id,
            ),
            Examined(landed, "It is reverted already." if is_nothing else ""),
            first=lambda: (),
        )

    def retry(self, entry_id: int) -> Entry:
        """Puts an entry back in the queue; raises QueueRefusal when its end is for good."""

        def decide() -> list[AnyQueueRecord]:
            entry = self.entry(entry_id)
            if entry.status is EntryStatus.CHECKING:
                return []
            if not can_move(entry.status, EntryStatus.QUEUED):
                raise QueueRefusal(f"Entry {entry_id} is {entry.status}; that is its end.")
            others = self._log.state.open_entries(self._repository.target)
            newer = [e for e in superseded(others, task=entry.submission.task) if e != entry]
            if newer:
                raise QueueRefusal(
                    f"Task {entry.submission.task} has a newer entry, {newer[-1].entry_id}."
                )
            return [EntryReturned(at=self._log.clock(), entry_id=entry_id, reason="retried")]

        self._log.write(decide)
        self._stir()
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
        self._stir()
        return self.entry(entry_id)

    def _enter(
        self,
        submission: Submission,
        examined: Examined,
        *,
        first: Callable[[], Sequence[AnyQueueRecord]],
    ) -> Entry:
        """Adds an entry, together with what `first` decides on the same state."""
        entered: list[int] = []

        def decide() -> list[AnyQueueRecord]:
            # Before anything is pinned: it may refuse.
            decided = first()
            entry_id = self._pin(submission.commit)
            entered.append(entry_id)
            open_entries = self._log.state.open_entries(self._repository.target)
            records: list[AnyQueueRecord] = [*decided]
            records += [
                self._ended(old.entry_id, EntryStatus.REJECTED, f"Entry {entry_id} replaces it.")
                for old in superseded(open_entries, task=submission.task)
            ]
            records.append(
                EntrySubmitted(
                    at=self._log.clock(),
                    entry_id=entry_id,
                    target=self._repository.target,
                    submission=submission,
                    fork=examined.fork,
                )
            )
            if why := examined.nothing_new:
                records.append(self._ended(entry_id, EntryStatus.NO_CHANGES, why))
            return records

        self._log.write(decide)
        self._stir()
        return self.entry(entered[0])

    def _refuse_taken_back(self, work: Submission) -> None:
        """Refuses a branch of which git would leave out, as landed, what was taken back since."""
        landed = self._publisher.landed
        for undo in self._log.entries():
            entry_id = undo.submission.reverts
            if entry_id is not None and undo.status is EntryStatus.MERGED:
                old = self.entry(entry_id)
                if self._is_left_out(old.submission.commit, undo.landed_as, work, landed):
                    raise ModelFault(
                        f"Your branch holds work that landed as {old.landed_as[:12]} and was taken "
                        "back since; git counts it as landed still. To have it again run in the "
                        f"lane `git merge {landed[:12]}` and `git revert "
                        f"{undo.submission.commit[:12]}`, and submit again."
                    )

    def _is_left_out(self, old: str, back: str, work: Submission, landed: str) -> bool:
        """True when `work` brings the commit `old` itself, and nothing that undoes `back`."""
        if not all(read_commit(self._git, name) for name in (old, work.base, work.commit)):
            return False
        brings = is_ancestor(self._git, old, work.commit)
        if not brings or is_ancestor(self._git, old, work.base):
            return False
        has_landed = is_ancestor(self._git, old, landed)
        return has_landed and not is_ancestor(self._git, back, work.commit)

    def _pin(self, commit: str) -> int:
        """Keeps a commit from being collected; returns the new entry's id."""
        # A journal that was lost leaves pins behind; their ids aren't given out again.
        pinned = [int(ref.removeprefix(ENTRIES)) for ref in read_refs(self._git, ENTRIES)]
        entry_id = max([self._log.state.next_id, *(number + 1 for number in pinned)])
        move_ref(durable(self._git), f"{ENTRIES}{entry_id}", new=commit, old="")
        return entry_id

    def _merged_pins(self) -> list[str]:
        pins = read_refs(self._git, ENTRIES)
        merged = (e for e in self._log.entries() if e.status is EntryStatus.MERGED)
        return [pins[ref] for e in merged if (ref := f"{ENTRIES}{e.entry_id}") in pins]

    def _ended(self, entry_id: int, status: EntryStatus, reason: str) -> EntrySettled:
        return EntrySettled(at=self._log.clock(), entry_id=entry_id, status=status, reason=reason)

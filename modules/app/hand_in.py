"""Handing in the work of one attempt: from the lane to the queue, and back with the verdict."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Protocol, assert_never

from modules.app.merging import MergeDriver
from modules.app.rework_words import conflict_lines, failure_lines
from modules.git.lane_state import Lane, LaneState, inspect_lane
from modules.git.refs import read_ref
from modules.git.repository import Repository
from modules.records.errors import CrewyardError, ModelFault
from modules.records.merges import Entry, EntryStatus, Submission
from modules.records.tasks import Claim, Task, TaskStatus
from modules.records.tooling import ToolResult
from modules.store.files import write_atomically
from modules.team.member import Member
from modules.team.task_board import BoardRefusal, TaskBoard


class NobodyToReview(CrewyardError):
    """Work needs a review that nobody is there to make."""


class Reviews(Protocol):
    """What has to be approved before it is queued, and the way to have it approved."""

    def is_needed(self, submission: Submission) -> bool: ...

    async def objection(self, submission: Submission) -> str:
        """Returns what speaks against the work, empty for a yes; raises NobodyToReview."""
        ...


class HandIn:
    """Takes in the work of one attempt; the attempt is over once it landed or needed no change."""

    def __init__(
        self,
        *,
        repository: Repository,
        task: Task,
        claim: Claim,
        lane: Lane,
        member: Member,
        board: TaskBoard,
        merging: MergeDriver,
        landed_ref: str,
        approve: Callable[[Submission], Awaitable[str]],
        mask: Callable[[str], str],
        reviews: Reviews,
        may_complete: Callable[[], Awaitable[str]],
        needs_plan: bool = False,
    ) -> None:
        self._repository = repository
        self._paths = repository.paths
        self._task = task
        self._claim = claim
        self._lane = lane
        self._member = member
        self._board = board
        self._merging = merging
        self._landed_ref = landed_ref
        self._approve = approve
        """Returns what speaks against a submission, a person's no included."""
        self._reviews = reviews
        self._mask = mask
        self._may_complete = may_complete
        self.needs_plan = needs_plan
        """True until a plan that has to come first is accepted; so long the worker only reads."""
        self.is_over = False
        self.is_handed_in = False
        """True while the work waits for its review or its verdict, and its worker for that."""
        self._late: list[str] = []

    async def submit(self, *, summary: str, no_changes_reason: str) -> ToolResult:
        """Submits the lane's commits and returns what came of them.

        Raises ModelFault when the lane is not in a state to be handed in.
        """
        # What goes into journals and results from here on holds no known secret.
        summary, no_changes_reason = self._mask(summary), self._mask(no_changes_reason)
        if not self._board.is_current(self._claim):
            self.keep_late(summary or no_changes_reason)
            raise ModelFault(
                "This attempt is no longer the current one of its task; your report was kept for "
                "review. Stop here."
            )
        state = await asyncio.to_thread(inspect_lane, self._repository, self._lane)
        _refuse_unready(state, self._lane)
        objection = await self._may_complete()
        if objection:
            raise ModelFault(f"A TaskCompleted hook objects: {objection}")
        if not state.files:
            return self._complete_unchanged(no_changes_reason)
        submission = self._submission(state, summary)
        objection = await self._approve(submission)
        if objection:
            raise ModelFault(objection)
        self.is_handed_in = True
        try:
            return await self._take_in(submission, summary)
        finally:
            self.is_handed_in = False

    async def _take_in(self, submission: Submission, summary: str) -> ToolResult:
        if self._reviews.is_needed(submission):
            try:
                await self._pass_review(submission)
            except NobodyToReview as error:
                return self._park(str(error))
        return await self._queue(submission, summary)

    async def _pass_review(self, submission: Submission) -> None:
        """Waits for the review; raises ModelFault when it does not let this very commit pass."""
        objection = await self._reviews.objection(submission)
        if objection:
            raise ModelFault(objection)
        ref = f"refs/heads/{self._lane.branch}"
        tip = await asyncio.to_thread(read_ref, self._repository.git, ref)
        if tip != submission.commit:
            raise ModelFault(
                f"{self._lane.branch} moved while {submission.commit[:12]} was reviewed, so the "
                "review does not count. Call submit_work again."
            )

    def _park(self, reason: str) -> ToolResult:
        """Lets the task rest until somebody is there; the closing of the lane keeps the work."""
        self.is_over = True
        self._board.park(self._task.task_id, reason=reason, by="lead", held=self._claim)
        return ToolResult(text=f"{reason} Your part is done.", ends_turn=True)

    @property
    def has_late(self) -> bool:
        """True once something was brought that came too late."""
        return bool(self._late)

    def keep_late(self, text: str) -> None:
        """Adds what came after the claim had ended to the attempt's result file, for review."""
        self._late.append(text.strip())
        self.keep_result("\n\n".join(self._late), outcome="stale")

    def keep_result(self, text: str, *, outcome: str) -> Path:
        """Writes the attempt's result file and returns its path."""
        path = self._paths.result(self._claim.task, self._claim.attempt)
        head = {
            "task": str(self._claim.task),
            "subject": self._task.draft.subject,
            "attempt": str(self._claim.attempt),
            "worker": self._claim.worker,
            "branch": self._lane.branch,
            "outcome": outcome,
        }
        lines = "\n".join(f"{key}: {value!r}" for key, value in head.items())
        write_atomically(path, self._mask(f"---\n{lines}\n---\n\n{text.strip()}\n"))
        return path

    def _complete_unchanged(self, reason: str) -> ToolResult:
        if not reason.strip():
            raise ModelFault(
                "There is nothing to hand in: no commit on this branch changes a file. Commit "
                "your work first, or give no_changes_reason."
            )
        self.keep_result(reason, outcome="no changes")
        try:
            self._board.complete_unchanged(self._claim, reason=reason)
        except BoardRefusal as error:
            raise ModelFault(str(error)) from error
        self.is_over = True
        return ToolResult(text="The task is completed without changes.", ends_turn=True)

    def _submission(self, state: LaneState, summary: str) -> Submission:
        return Submission(
            task=self._claim.task,
            subject=self._task.draft.subject,
            attempt=self._claim.attempt,
            generation=self._claim.generation,
            worker=self._claim.worker,
            branch=self._lane.branch,
            commit=state.head,
            base=self._lane.base,
            summary=summary,
            files=tuple(state.files),
            check=self._task.draft.check,
            priority=self._task.draft.priority,
        )

    async def _queue(self, submission: Submission, summary: str) -> ToolResult:
        self.keep_result(summary or "(no summary)", outcome="submitted")
        entry = await self._merging.submit(submission)
        try:
            self._board.submit(self._claim, entry=entry.entry_id)
        except BoardRefusal as error:
            # A landing may be quicker than this note of it.
            if self._board.task(self._task.task_id).status is not TaskStatus.COMPLETED:
                raise ModelFault(str(error)) from error
        with self._member.waiting("the merge queue"):
            entry, pause = await self._merging.verdict(entry.entry_id)
        if pause:
            self.is_over = True
            self._board.park(self._task.task_id, reason=pause, by="queue", held=self._claim)
            return ToolResult(
                text=f"The work is in the merge queue, which pauses: {pause} Your part is done.",
                ends_turn=True,
            )
        return self._verdict(entry)

    def _verdict(self, entry: Entry) -> ToolResult:
        match entry.status:
            case EntryStatus.MERGED:
                self.is_over = True
                text = f"Landed as {entry.landed_as}. The task is completed."
                return ToolResult(text=text, ends_turn=True)
            case EntryStatus.CONFLICTED | EntryStatus.FAILED:
                self._give_back(entry)
                return ToolResult(text=self._rework(entry), is_error=True)
            case EntryStatus.NO_CHANGES:
                self._give_back(entry)
                text = (
                    f"Nothing of it is new: {entry.reason} Call submit_work with "
                    "no_changes_reason if the task needs no change."
                )
                return ToolResult(text=text, is_error=True)
            case EntryStatus.REJECTED:
                self._give_back(entry)
                return ToolResult(text=f"Rejected: {entry.reason}", is_error=True)
            case EntryStatus.QUEUED | EntryStatus.CHECKING:
                raise RuntimeError(f"Entry {entry.entry_id} is not final: {entry.status}.")
            case _:
                assert_never(entry.status)

    def _give_back(self, entry: Entry) -> None:
        if self._board.is_current(self._claim):
            self._board.rework(self._claim, reason=f"{entry.status}: {entry.reason}")

    def _rework(self, entry: Entry) -> str:
        if entry.status is EntryStatus.CONFLICTED:
            parts = ["Conflict with what has landed meanwhile:", *conflict_lines(entry.conflicts)]
            parts.append(
                f"Run `git merge {self._landed_ref}` here, resolve, run the check, commit, and "
                "call submit_work again."
            )
            return "\n".join(parts)
        parts = failure_lines(entry, self._paths.root)
        return "\n".join([*parts, "Fix it, commit, and call submit_work again."])


def _refuse_unready(state: LaneState, lane: Lane) -> None:
    """Raises ModelFault that says what to do before the lane can be handed in."""
    again = "Then call submit_work again."
    if state.unreadable:
        raise ModelFault(f"git can't read this worktree: {state.unreadable}")
    if state.unfinished:
        raise ModelFault(f"A {state.unfinished} is in its middle. Finish or abort it. {again}")
    if state.own_head:
        raise ModelFault(
            f"{lane.branch} is at {state.head[:12]}, but the last commit made here is "
            f"{state.own_head[:12]}: something outside of this worktree moved it. Run `git reset "
            f"--soft {state.own_head}` to go on with yours. {again}"
        )
    if state.branch != lane.branch:
        where = f"branch {state.branch}" if state.branch else "no branch (detached HEAD)"
        raise ModelFault(
            f"You are on {where}. Bring your commits to {lane.branch} and switch to it. {again}"
        )
    if state.dirty:
        files = ", ".join(state.dirty[:10])
        raise ModelFault(
            f"There is uncommitted work ({files}). Commit it on {lane.branch}, or remove it. "
            f"{again}"
        )
    if state.is_base_rewritten:
        raise ModelFault(
            f"{lane.branch} no longer contains the commit it was made from, {lane.base[:12]}. "
            f"Rebase your work onto it. {again}"
        )

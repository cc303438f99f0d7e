"""What work waits for a review, and what was said about which commit; kept in the queue's journal.

1. An answer is to one commit of one task, and the first one counts.
2. A commit that was approved needs no other approval, whoever leads, but a person's where only the
   lead has looked; one that was sent back is asked about anew when it is handed in again.
3. What waits is asked about until it is answered or its attempt is over: so another shell can
   answer for work that nobody is waiting beside.
"""

from collections.abc import Iterable

from modules.records.merges import Submission
from modules.records.queue_records import AnyQueueRecord, ReviewAsked, ReviewGiven
from modules.records.settings import Review
from modules.records.tasks import Task, TaskStatus
from modules.team.board_rules import UNDER_WAY
from modules.team.queue_log import QueueLog
from modules.team.queue_state import QueueState


class ReviewLedger:
    """The reviews of one repository."""

    def __init__(self, log: QueueLog) -> None:
        self._log = log

    def ask(self, work: Submission, *, of: Review) -> None:
        """Notes that work waits; an older commit of its task does no longer."""
        self._log.note(ReviewAsked(at=self._log.clock(), submission=work, of=of))

    def settle(self, work: Submission, *, accepts: bool, words: str, by: str) -> ReviewGiven | None:
        """Notes an answer if the work still waits; returns the one that counts.

        Returns None when other work of the task waits by now.
        """
        given = ReviewGiven(
            at=self._log.clock(),
            task=work.task,
            commit=work.commit,
            accepts=accepts,
            words=words,
            by=by,
        )
        self._log.write(lambda: counted(self._log.state, given))
        return self.answered(work.task, work.commit)

    def answered(self, task: int, commit: str) -> ReviewGiven | None:
        """Returns what was said about a commit since it was asked about last."""
        return self._log.state.answers.get((task, commit))

    def is_approved(self, task: int, commit: str, *, of: Review) -> bool:
        """True for a commit that was approved by whom `of` asks for, or by the person."""
        given = self.answered(task, commit)
        return given is not None and given.accepts and (of != "person" or given.by == "person")

    def open(self, tasks: Iterable[Task]) -> list[ReviewAsked]:
        """Returns the work that waits for a review, by task."""
        return open_reviews(self._log.state.reviews.values(), tasks)

    def waiting(self, task: int) -> ReviewAsked | None:
        """Returns the work of `task` that waits for a review."""
        return self._log.state.reviews.get(task)


def counted(state: QueueState, given: ReviewGiven) -> list[AnyQueueRecord]:
    """Returns the answer where the commit it is to still waits, else nothing."""
    waiting = state.reviews.get(given.task)
    return [given] if waiting and waiting.submission.commit == given.commit else []


def open_reviews(asked: Iterable[ReviewAsked], tasks: Iterable[Task]) -> list[ReviewAsked]:
    """Returns what of `asked` still waits, by task."""
    known = {task.task_id: task for task in tasks}
    found = sorted(asked, key=lambda one: one.submission.task)
    return [
        one
        for one in found
        if one.submission.task in known and is_open(one, known[one.submission.task])
    ]


def is_open(asked: ReviewAsked, task: Task) -> bool:
    """True while the attempt that asked is the task's last, and at work or parked."""
    work = asked.submission
    is_last = (work.attempt, work.generation) == (task.attempt, task.generation)
    return is_last and (task.status in UNDER_WAY or task.status is TaskStatus.PARKED)

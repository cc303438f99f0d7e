"""Reviews of work before it is queued: asked for, answered, and bound to one commit.

1. An approval is of the commit that was looked at. Work with another commit is reviewed anew; the
   same commit handed in again is not.
2. The lead approves what merge_review showed it, and nothing it has not been shown.
3. Where the lead is to look and there is none, the person is asked; where nobody can look, nothing
   is approved.
"""

from collections.abc import Awaitable, Callable

from modules.app.approval import ask_in_person
from modules.app.awaited_answers import AwaitedAnswers
from modules.app.hand_in import NobodyToReview
from modules.app.house import House
from modules.app.wait_notes import WaitNotes
from modules.records.decisions import Answer
from modules.records.errors import ModelFault
from modules.records.merges import Submission
from modules.records.settings import Review, Settings
from modules.team.review_rules import policy_for

_SHOWN_FILES = 20


class Reviews:
    """The work that waits for a review, and the commits that were approved."""

    def __init__(
        self,
        settings: Settings,
        waits: WaitNotes,
        *,
        has_lead: Callable[[], bool],
        write_lead: Callable[[str, str, str], None],
        ask_person: Callable[[Submission], Awaitable[str]] | None,
    ) -> None:
        self._settings = settings
        self._has_lead = has_lead
        self._write_lead = write_lead
        """Takes who asks, the words, and how to answer."""
        self._ask_person = ask_person
        """Returns what the person has against the work; None where no person is there."""
        self._answers: AwaitedAnswers[tuple[bool, str]] = AwaitedAnswers(waits, "the lead's review")
        self._pending: dict[int, Submission] = {}
        self._shown: dict[int, str] = {}
        self._approved: set[tuple[int, str]] = set()

    async def objection(self, submission: Submission) -> str:
        """Waits for the review that the settings ask for and returns what speaks against the work.

        Raises NobodyToReview.
        """
        if not self.is_needed(submission):
            return ""
        policy = self._policy(submission)
        if policy == "lead" and self._has_lead():
            objection = await self._ask_lead(submission)
        else:
            objection = await self._ask_a_person(submission, policy)
        if not objection:
            self._approved.add((submission.task, submission.commit))
        return objection

    def is_needed(self, submission: Submission) -> bool:
        """True where somebody has to approve the work and has not yet."""
        is_approved = (submission.task, submission.commit) in self._approved
        return self._policy(submission) != "none" and not is_approved

    def _policy(self, submission: Submission) -> Review:
        general, by_path = self._settings.review, self._settings.review_paths
        return policy_for(submission.files, general=general, by_path=by_path)

    def show(self, task: int) -> Submission | None:
        """Returns the work of `task` that waits for the lead, who then has seen it."""
        submission = self._pending.get(task)
        if submission is not None:
            self._shown[task] = submission.commit
        return submission

    def is_pending(self, task: int) -> bool:
        """True while work of `task` waits for the lead."""
        return task in self._pending

    def answer(self, task: int, *, accepts: bool, words: str) -> None:
        """Gives the lead's answer; raises ModelFault when there is nothing to answer."""
        submission = self._pending.get(task)
        if submission is None:
            raise ModelFault(f"No work of task {task} waits for a review.")
        if accepts and self._shown.get(task) != submission.commit:
            raise ModelFault(
                f"You have not seen {submission.commit[:12]} of task {task}; look at it with "
                "merge_review first."
            )
        self._answers.give(_name(task), (accepts, words))

    async def _ask_lead(self, work: Submission) -> str:
        words = (
            f"I hand in task {work.task} ({work.subject}) at {work.commit[:12]}, which changes "
            f"{_files(work)}. Look at it with merge_review."
        )
        how = f"merge_integrate for task {work.task}: `approve`, or `rework` with what to change"
        self._pending[work.task] = work
        try:
            answer = await self._answers.wait(
                _name(work.task),
                agent=work.worker,
                ask=lambda: self._write_lead(work.worker, words, how),
                timeout_seconds=self._settings.ask_timeout_seconds,
            )
        finally:
            del self._pending[work.task]
            self._shown.pop(work.task, None)
        if answer is None:
            return "The lead did not look at it in time. Call submit_work again to wait on."
        accepts, said = answer
        if accepts:
            return ""
        return f"The lead sends it back: {said or '(no words)'} Change that, commit, submit again."

    async def _ask_a_person(self, work: Submission, policy: Review) -> str:
        if self._ask_person is None:
            whose = "a person's review" if policy == "person" else "the lead's or a person's review"
            raise NobodyToReview(f"The work needs {whose}, and nobody is there to make it.")
        return await self._ask_person(work)


async def ask_person(house: House, work: Submission) -> str:
    """Asks the person and returns what they have against the work; empty for a yes."""
    answer, reason = await ask_in_person(
        house,
        agent=work.worker,
        tool="submit_work",
        text=(
            f"{work.subject}: {_files(work)}; see `git diff {work.base[:12]} {work.commit[:12]}`. "
            f"{work.summary}"
        ),
        why="work like this lands only after a review",
    )
    if answer is Answer.NO:
        return f"The review sends it back: {reason}. Ask what to change with ask_user."
    return ""


def _name(task: int) -> str:
    return f"task {task}"


def _files(work: Submission) -> str:
    shown = ", ".join(repr(path) for path in work.files[:_SHOWN_FILES])
    more = len(work.files) - _SHOWN_FILES
    return f"{shown} and {more} more" if more > 0 else shown

"""Reviews of work before it is queued: asked for, answered, and bound to one commit.

1. An approval is of the commit that was looked at. Work with another commit is reviewed anew; the
   same commit handed in again is not.
2. The lead approves what merge_review showed it, and nothing it has not been shown.
3. Where the lead is to look and there is none, the person is asked; where nobody can look, nothing
   is approved.
4. A person may answer from another shell as well, be it for the lead; the first answer counts.
"""

import asyncio
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
from modules.team.review_ledger import ReviewLedger
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
        ledger: ReviewLedger,
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
        self._ledger = ledger
        self._elsewhere: dict[asyncio.Future[str], Submission] = {}
        """What another shell says against the work that is asked about."""

    async def objection(self, submission: Submission) -> str:
        """Waits for the review that the settings ask for and returns what speaks against the work.

        Raises NobodyToReview.
        """
        if not self.is_needed(submission):
            return ""
        policy = self._policy(submission)
        is_leads = policy == "lead" and self._has_lead()
        ask = self._ask_lead if is_leads else self._ask_person
        self._ledger.ask(submission, of=policy)
        if ask is None:
            whose = "a person's review" if policy == "person" else "the lead's or a person's review"
            raise NobodyToReview(
                f"The work needs {whose}, and nobody is there to make it. To let it in: "
                f"`crewyard queue approve {submission.task}`."
            )
        objection = await self._first_answer(submission, ask)
        given = self._ledger.settle(
            submission,
            accepts=not objection,
            words=objection,
            by="lead" if is_leads else "person",
        )
        if given is None:
            return "Other work of the task waits for its review by now."
        return "" if given.accepts else given.words

    def look(self) -> None:
        """Takes in what other shells answered."""
        for said, work in self._elsewhere.items():
            given = self._ledger.answered(work.task, work.commit)
            if given is not None and not said.done():
                said.set_result("" if given.accepts else given.words)

    async def _first_answer(
        self, work: Submission, ask: Callable[[Submission], Awaitable[str]]
    ) -> str:
        """Asks who has to look; returns what they, or another shell, have against the work."""
        said: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        asking = asyncio.ensure_future(ask(work))
        self._elsewhere[said] = work
        try:
            await asyncio.wait({asking, said}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            del self._elsewhere[said]
            asking.cancel()
            await asyncio.wait({asking})
        return said.result() if said.done() else asking.result()

    def is_needed(self, submission: Submission) -> bool:
        """True where somebody has to approve the work and has not yet."""
        policy = self._policy(submission)
        return policy != "none" and not self._ledger.is_approved(
            submission.task, submission.commit, of=policy
        )

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
        self._answers.give(_name(submission), (accepts, words))

    async def _ask_lead(self, work: Submission) -> str:
        words = (
            f"I hand in task {work.task} ({work.subject}) at {work.commit[:12]}, which changes "
            f"{_files(work)}. Look at it with merge_review."
        )
        how = f"merge_integrate for task {work.task}: `approve`, or `rework` with what to change"
        self._pending[work.task] = work
        try:
            answer = await self._answers.wait(
                _name(work),
                agent=work.worker,
                ask=lambda: self._write_lead(work.worker, words, how),
                timeout_seconds=self._settings.ask_timeout_seconds,
            )
        finally:
            # A later attempt at the task may have come to wait meanwhile.
            if self._pending.get(work.task) is work:
                del self._pending[work.task]
                self._shown.pop(work.task, None)
        if answer is None:
            return "The lead did not look at it in time. Call submit_work again to wait on."
        accepts, said = answer
        if accepts:
            return ""
        return f"The lead sends it back: {said or '(no words)'} Change that, commit, submit again."


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


def _name(work: Submission) -> str:
    return f"task {work.task}, attempt {work.attempt}"


def _files(work: Submission) -> str:
    shown = ", ".join(repr(path) for path in work.files[:_SHOWN_FILES])
    more = len(work.files) - _SHOWN_FILES
    return f"{shown} and {more} more" if more > 0 else shown

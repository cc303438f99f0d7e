"""What only a person may allow: of a submission before it is queued, of an address."""

import asyncio

from modules.app.house import House
from modules.records.decisions import Answer
from modules.records.merges import Submission
from modules.team.leaks import find_leaks
from modules.team.submission import protected_paths

_SHOWN_LEAKS = 10


async def ask_in_person(
    house: House, *, agent: str, tool: str, text: str, why: str
) -> tuple[Answer, str]:
    """Returns the person's answer and, for a no, the reason; hooks may say no, but not yes."""
    objection = await house.run_hooks.objection_to_asking(agent=agent, tool=tool, text=text)
    if objection:
        return Answer.NO, objection
    return await house.questions.ask_permission(
        agent=agent, tool=tool, text=text, why=why, rule_offered=""
    )


async def approve_submission(house: House, submission: Submission) -> str:
    """Returns why a submission may not be queued; a person may allow most of it."""
    return await _approve_leaks(house, submission) or await _approve_protected(house, submission)


async def _approve_leaks(house: House, submission: Submission) -> str:
    """Stops secrets; a person may let in what only looks like one, never one of ours."""
    leaks = await asyncio.to_thread(
        find_leaks,
        house.repository.git,
        landed=house.queue.landed,
        commit=submission.commit,
        mask=house.mask,
    )
    if not leaks:
        return ""
    listed = "; ".join(leak.words for leak in leaks[:_SHOWN_LEAKS])
    if not any(leak.is_known for leak in leaks):
        answer, _ = await ask_in_person(
            house,
            agent=submission.worker,
            tool="submit_work",
            text=f"{submission.subject}: {listed}",
            why="this looks like secrets, and what is in a commit stays in the history",
        )
        if answer is not Answer.NO:
            return ""
    return (
        f"The submission would put secrets into the repository: {listed}. Take them out of "
        f"every commit (git reset --soft {submission.base[:12]}, mend the files, commit "
        "anew), read them from the environment instead, and call submit_work again."
    )


async def _approve_protected(house: House, submission: Submission) -> str:
    paths = await asyncio.to_thread(protected_paths, house.repository, submission)
    if not paths:
        return ""
    listed = ", ".join(paths)
    answer, reason = await ask_in_person(
        house,
        agent=submission.worker,
        tool="submit_work",
        text=f"{submission.subject}: changes {listed}",
        why="these files steer tools that run later",
    )
    if answer is Answer.NO:
        return (
            f"The submission changes protected files ({listed}); {reason}. Leave them as they are."
        )
    return ""

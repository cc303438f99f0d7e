"""The agents' system prompts, filled from the texts beside this file."""

from datetime import date
from importlib.resources import files
from string import Template

from modules.records.tasks import Task

PLAN_LINE = (
    "- This task wants a plan first: read, then call submit_plan. Until it is accepted you can "
    "only read.\n"
)
NO_CHECK = "none is set, so nothing can land until the person sets one"


def lead_prompt(*, root: str, check: str, target: str) -> str:
    """Returns what the lead's model is told at the head of every request.

    Nothing in it changes during a run: a changed head costs the provider's cache.
    """
    return _filled("lead.md", root=root, check=check or NO_CHECK, target=target)


def lead_opening(*, target: str, commit: str, today: date, hook_context: str) -> str:
    """Returns what a conversation of the lead begins with, before the person's first words."""
    facts = f"Today is {today.isoformat()}. {target} is at {commit[:12]}."
    return f"<context>\n{facts}\n{hook_context}".rstrip() + "\n</context>"


def worker_prompt(
    *,
    name: str,
    role: str,
    role_prompt: str,
    lane: str,
    branch: str,
    base: str,
    check: str,
    landed_ref: str,
    needs_plan: bool,
) -> str:
    """Returns what a worker's model is told at the head of every request."""
    return _filled(
        "worker.md",
        name=name,
        role_line=f" Your role: {role}." if role else "",
        role_prompt=f"\n{role_prompt}" if role_prompt else "",
        lane=lane,
        branch=branch,
        base=base[:12],
        check=check or NO_CHECK,
        landed_ref=landed_ref,
        plan_line=PLAN_LINE if needs_plan else "",
    )


def subagent_prompt(*, name: str, caller: str, root: str, only_reads: bool) -> str:
    """Returns what a sub-agent's model is told at the head of every request."""
    may = (
        "You only read: you have no tool that changes anything, and commands that would are denied."
        if only_reads
        else "You may change what your caller may. Commit and hand in nothing; your caller does."
    )
    return _filled("subagent.md", name=name, caller=caller, root=root, may=may)


def task_opening(task: Task, *, previous: str) -> str:
    """Returns a worker's first message: the task, and what is known of earlier attempts."""
    draft = task.draft
    lines = [f"Task {task.task_id}: {draft.subject}"]
    if draft.description:
        lines += ["", draft.description]
    if draft.check:
        lines += ["", f"The task's own check: {draft.check}"]
    if draft.writes:
        lines += ["", "Files it is expected to touch: " + ", ".join(draft.writes)]
    if previous:
        lines += ["", f"This is attempt {task.attempt}. {previous}"]
    return "\n".join(lines)


def summary_prompt(*, most_tokens: int, focus: str) -> str:
    """Returns what a model is told that is to sum up a conversation."""
    return _filled(
        "summary.md",
        words=str(most_tokens // 2),
        focus=f"\nAbove all keep what concerns this: {focus}" if focus else "",
    )


def summary_question(*, so_far: str, piece: str) -> str:
    """Returns one piece of a conversation, with the summary of what came before it."""
    before = f"Summary of what came before:\n{so_far}\n\n" if so_far else ""
    return (
        f"{before}<conversation>\n{piece}\n</conversation>\n\nWrite one summary of all of it now."
    )


def _filled(file_name: str, /, **values: str) -> str:
    text = files(__package__).joinpath(file_name).read_text(encoding="utf-8")
    return Template(text).substitute(values).rstrip() + "\n"

"""The crew's services behind the lead's and the workers' tools; see tools.crew_context.CrewDesk."""

import asyncio
from functools import partial

from msgspec.structs import replace

from modules.app.approval import ask_in_person
from modules.app.awaited_answers import AwaitedAnswers
from modules.app.house import House
from modules.app.lane_text import lane_text
from modules.app.reviews import Reviews, ask_person
from modules.app.run_hooks import draft_fields
from modules.app.worker_end import left_words
from modules.git.lane_state import Lane, inspect_lane
from modules.git.lanes import CloseAction, Closed, close_lane, list_lanes
from modules.records.crew import WorkerView
from modules.records.decisions import Answer, Mode
from modules.records.errors import ModelFault
from modules.records.merges import Entry
from modules.records.tasks import Task, TaskDraft
from modules.records.web import Elsewhere, Page
from modules.safety.hook_matching import HookEvent
from modules.safety.secrets import find_secrets
from modules.team.addresses import LEAD, everybody, is_crew_name, recipients
from modules.team.role_rules import undescribed_role
from modules.team.supervisor import Supervisor
from modules.team.task_board import BoardRefusal
from tools.catalog import WORKER_TOOL_NAMES
from tools.merge import REVIEW_ANSWERS, entry_line, entry_parts

_DIFF_CHARACTERS = 20_000
_NOTICE_CHARACTERS = 200


class Crew:
    """What agents may ask of the crew."""

    def __init__(self, house: House) -> None:
        self._house = house
        self._supervisor: Supervisor | None = None
        self._questions: AwaitedAnswers[str] = AwaitedAnswers(house.waits, "the lead's answer")
        self._plans: AwaitedAnswers[tuple[bool, str]] = AwaitedAnswers(
            house.waits, "the lead's word on its plan"
        )
        self.has_lead = False
        """True where a lead's model is there to answer."""
        self.reviews = Reviews(
            house.settings,
            house.waits,
            has_lead=lambda: self.has_lead,
            write_lead=self._write_lead,
            ask_person=partial(ask_person, house) if house.questions.has_person else None,
            ledger=house.queue.reviews,
        )

    def join(self, supervisor: Supervisor) -> None:
        """Gives the crew its supervisor, which itself needs the crew to work."""
        self._supervisor = supervisor
        self._house.waits.join(supervisor.waiting)

    @property
    def supervisor(self) -> Supervisor:
        """The crew's supervisor."""
        if self._supervisor is None:
            raise RuntimeError("The crew has no supervisor yet.")
        return self._supervisor

    async def post_task(self, draft: TaskDraft, *, agent: str) -> Task:
        """Posts a task; raises ModelFault when it can't stand, or a hook says no."""
        mask = self._house.mask.masked
        draft = replace(draft, subject=mask(draft.subject), description=mask(draft.description))
        objection = await self._house.run_hooks.objection(
            HookEvent.TASK_CREATED, draft_fields(draft, by=agent)
        )
        if objection:
            raise ModelFault(f"A TaskCreated hook refuses the task: {objection}")
        try:
            return self._house.board.add(draft, by=agent)
        except BoardRefusal as error:
            raise ModelFault(str(error)) from error

    def role_warning(self, role: str) -> str:
        """Returns what whoever posts a task has to know of its role; mostly nothing."""
        return undescribed_role(role, self._house.settings.roles)

    def tasks(self) -> list[Task]:
        """Returns all tasks, with what each waits for."""
        return self._house.board.explained(there=[worker.name for worker in self.workers()])

    def workers(self) -> list[WorkerView]:
        """Returns the crew."""
        return self.supervisor.members()

    def spawn(
        self, *, name: str, role: str, model: str, tools: tuple[str, ...], mode: Mode | None
    ) -> None:
        """Adds a named worker that may do no more than the lead; `tools` empty: all of its role."""
        if name == LEAD or is_crew_name(name):
            whose = "the lead's" if name == LEAD else "one of those the crew's own workers get"
            raise ModelFault(f"The name {name!r} is {whose}; choose another.")
        offered = WORKER_TOOL_NAMES | {tool.name for tool in self._house.mcp.tools()}
        unknown = [tool for tool in tools if tool not in offered]
        if unknown:
            raise ModelFault(
                f"A worker can have no tool {unknown[0]!r}; there are {', '.join(sorted(offered))}."
            )
        lead_mode = self._house.permissions.mode
        if mode is not None and mode.rank > lead_mode.rank:
            allowed = ", ".join(one for one in Mode if one.rank <= lead_mode.rank)
            raise ModelFault(
                f"The mode {mode} is above the lead's, which is {lead_mode}; choose of: {allowed}."
            )
        self.supervisor.add_teammate(name, role, model, tools=tools or None, mode=mode)

    async def shut_down(self, name: str) -> None:
        """Ends a worker; raises ModelFault where something of it is still there."""
        left = await self.supervisor.remove_teammate(name)
        if left:
            raise ModelFault(f"{name} is off the crew, but {left_words(left)}.")

    def send_mail(self, *, agent: str, to: str | None, body: str) -> int:
        """Sends to one agent or a role, or to all workers when `to` is None."""
        body = self._house.mask.masked(body)
        roles = {worker.name: self._role_now(worker) for worker in self.workers()}
        if to is None:
            readers = everybody(sender=agent, roles=roles)
        else:
            readers = recipients(to, sender=agent, roles=roles)
        if agent == LEAD and to is not None and self._questions.give(to, body):
            return 1
        sent = self._house.mailbox.send(sender=agent, to=readers, body=body)
        if LEAD in readers:
            self._house.events.notice(f"{agent} wrote to the lead: {_on_one_line(body)}")
        return sent

    def _role_now(self, worker: WorkerView) -> str:
        if worker.role or worker.task is None:
            return worker.role
        return self._house.board.task(worker.task).draft.role

    async def lane_lines(self) -> list[str]:
        """Returns every lane on one line."""
        lanes = await asyncio.to_thread(list_lanes, self._house.repository)
        return [f"{lane.name} · {lane.branch} · from {lane.base[:12]}" for lane in lanes]

    async def lane_info(self, name: str) -> str:
        """Returns what is in one lane."""
        lane = await self._lane(name)
        state = await asyncio.to_thread(inspect_lane, self._house.repository, lane)
        return lane_text(lane, state)

    async def close_lane(self, name: str, *, action: str) -> str:
        """Keeps or removes one lane."""
        busy = {task.lane for task in self.tasks() if task.status in ("in_progress", "in_review")}
        if action == "keep" or name in busy:
            why = "a worker is in it" if name in busy else "as asked"
            return f"{name} is kept: {why}."
        lane = await self._lane(name)
        closed = await asyncio.to_thread(
            close_lane,
            self._house.repository,
            lane,
            action=CloseAction.SALVAGE,
            is_landed=self._house.queue.has_landed,
            now=self._house.clock(),
        )
        self._house.run_hooks.tell_removed(lane, closed)
        return _closed_text(name, closed)

    def entries(self) -> list[Entry]:
        """Returns the merge queue."""
        return self._house.queue.entries()

    async def review(self, task_id: int) -> str:
        """Returns what a task brings or brought: report, diff, conflicts, check."""
        waiting = self.reviews.show(task_id)
        entries = [e for e in self.entries() if e.submission.task == task_id]
        if waiting is not None:
            work = waiting
            parts = [f"task {task_id} waits for your review: {work.branch} {work.commit[:12]}"]
        else:
            work = self._entry(task_id).submission
            parts = [entry_line(entries[-1])]
        parts.append(f"Report: {work.summary or '(none)'}")
        parts += [
            part for entry in entries[-1:] for part in entry_parts(entry, is_past=bool(waiting))
        ]
        parts += await self._house.clashes.lines(task_id)
        diff = await asyncio.to_thread(self._house.queue.diff, work)
        cut = (
            f"\n… {len(diff) - _DIFF_CHARACTERS} characters more"
            if len(diff) > _DIFF_CHARACTERS
            else ""
        )
        return "\n".join([*parts, diff[:_DIFF_CHARACTERS] + cut])

    async def integrate(self, task_id: int, *, strategy: str, reason: str) -> str:
        """Approves a task's work or sends it back; puts it back in the queue, or rejects it."""
        if strategy in REVIEW_ANSWERS:
            self.reviews.answer(task_id, accepts=strategy == "approve", words=reason)
            return f"Task {task_id}: told."
        if self.reviews.is_pending(task_id):
            raise ModelFault(f"Task {task_id} waits for your review: approve or rework it.")
        entry = self._entry(task_id)
        if strategy == "reject":
            rejected = await asyncio.to_thread(
                self._house.queue.reject, entry.entry_id, reason or "rejected by the lead"
            )
            return entry_line(rejected)
        again = await asyncio.to_thread(self._house.queue.retry, entry.entry_id)
        self._house.merging.wake()
        return entry_line(again)

    async def ask_person(self, *, agent: str, question: str) -> str:
        """Asks the person in words."""
        question = self._house.mask.masked(question)
        return await self._house.questions.ask_in_words(agent=agent, question=question)

    async def ask_lead(self, *, agent: str, question: str) -> str:
        """Puts a question to the lead and returns what it answers; waits a limited time."""
        if not self.has_lead:
            return "No lead is there to answer. Decide yourself, and say what you assumed."
        answer = await self._questions.wait(
            agent,
            agent=agent,
            ask=lambda: self._write_lead(agent, question, f"send_message to {agent}"),
            timeout_seconds=self._house.settings.ask_timeout_seconds,
        )
        return answer or "The lead did not answer in time. Decide yourself, and say so."

    async def review_plan(self, *, agent: str, plan: str) -> tuple[bool, str]:
        """Returns whether the lead, or without one the person, accepts a plan, and the words."""
        if not self.has_lead:
            answer, reason = await self._house.questions.ask_permission(
                agent=agent,
                tool="submit_plan",
                text=plan,
                why="its plan comes first",
                rule_offered="",
            )
            return answer is not Answer.NO, reason
        found = await self._plans.wait(
            agent,
            agent=agent,
            ask=lambda: self._write_lead(agent, f"My plan:\n{plan}", f"answer_plan for {agent}"),
            timeout_seconds=self._house.settings.ask_timeout_seconds,
        )
        return found or (False, "the lead did not answer in time; hand it in again.")

    def answer_plan(self, name: str, *, accepts: bool, feedback: str) -> None:
        """Gives a worker the answer to its plan; raises ModelFault when it waits for none."""
        if not self._plans.give(name, (accepts, feedback)):
            raise ModelFault(f"{name} has sent no plan that waits for an answer.")

    def _write_lead(self, agent: str, words: str, how: str) -> None:
        words = self._house.mask.masked(words)
        # Said first, so that it is told of the longest words as well.
        body = f"(The worker waits: answer with {how}.)\n{words}"
        self._house.mailbox.send(sender=agent, to=[LEAD], body=body)
        self._house.events.notice(f"{agent} waits for the lead: {_on_one_line(words)}")

    async def fetch(self, url: str, *, agent: str) -> Page | Elsewhere:
        """Fetches a page; the person is asked where the way leads from https to http."""
        if self._house.mask.masked(url) != url or find_secrets(url):
            raise ModelFault("The address holds a secret, which would leave this machine with it.")
        found = await self._house.web.fetch(url)
        if not isinstance(found, Elsewhere) or not found.is_downgrade:
            return found
        answer, reason = await ask_in_person(
            self._house,
            agent=agent,
            tool="web_fetch",
            text=found.url,
            why=f"{url} leads there, from https to http, which anybody on the way can read",
        )
        if answer is Answer.NO:
            raise ModelFault(f"{url!r} leads from https to {found.url!r}; {reason}.")
        return await self._house.web.fetch(found.url)

    def mcp_status(self) -> str:
        """Returns the state of every MCP server."""
        return "\n".join(status.line for status in self._house.mcp.status()) or (
            "No MCP server is configured (.mcp.json)."
        )

    async def _lane(self, name: str) -> Lane:
        lanes = await asyncio.to_thread(list_lanes, self._house.repository)
        found = next((lane for lane in lanes if lane.name == name), None)
        if found is None:
            raise ModelFault(f"There is no worktree {name!r}; worktree_list names them.")
        return found

    def _entry(self, task_id: int) -> Entry:
        entries = [e for e in self.entries() if e.submission.task == task_id]
        if not entries:
            raise ModelFault(f"Task {task_id} has brought nothing to the merge queue.")
        return entries[-1]


def _on_one_line(words: str) -> str:
    return " ".join(words.split())[:_NOTICE_CHARACTERS]


def _closed_text(name: str, closed: Closed) -> str:
    if closed.kept:
        return f"{name} is kept: {closed.reason}."
    parts = [f"{name} is removed."]
    if closed.salvage_ref:
        parts.append(f"What had not landed is kept in {closed.salvage_ref}.")
    if closed.reason:
        parts.append(closed.reason)
    return " ".join(parts)

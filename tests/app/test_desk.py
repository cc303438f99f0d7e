"""What a worker may do at its desk, and what is left of that once it has lost its task."""

import asyncio
from collections.abc import Callable
from datetime import timedelta
from itertools import count
from pathlib import Path

import pytest

from modules.agent.brain import Head, LocalBrain
from modules.agent.tool_pool import ToolPool, pooled
from modules.app.desk import STALE, WorkerDesk
from modules.app.event_bus import EventBus
from modules.app.hand_in import HandIn
from modules.app.merging import MergeDriver
from modules.app.remote_subagents import RemoteSubAgents
from modules.app.subagents import SubAgent
from modules.context.session import Session
from modules.records.decisions import Mode, Risk, ToolSubject
from modules.records.errors import ModelFault
from modules.records.mail import MailSent
from modules.records.merges import Submission
from modules.records.messages import (
    Message,
    ModelReply,
    ModelRequest,
    StopReason,
    Text,
    ToolCall,
    said,
)
from modules.records.protocol import Assigned
from modules.records.record import Record
from modules.records.settings import Rules
from modules.records.tasks import TaskDraft
from modules.records.tooling import Place, ToolResult
from modules.safety.ground import Ground
from modules.safety.permissions import PermissionManager, Standing
from modules.team.board_rules import current_claim
from modules.team.broker import WorkerBroken
from modules.team.mailbox import Mailbox
from modules.team.member import Member
from modules.team.task_board import TaskBoard
from tests.fakes.compaction import FakeNeeds
from tests.fakes.gate import FakeAsker, FakeHooks, FakeWatcher, Order
from tests.repos import NOW, make_repo
from tests.team.queue_case import QueueCase
from tools.subagent import SubagentInput

LEASE = timedelta(seconds=0)
"""So short that every sign of life renews it."""


class Letter(Record):
    """Input of a tool of the lead's."""

    text: str = ""


class NoReviews:
    """Nothing has to be reviewed."""

    def is_needed(self, submission: Submission) -> bool:
        return False

    async def objection(self, submission: Submission) -> str:
        raise AssertionError(submission)


class SlowReview:
    """Approves, but not before something happened."""

    def __init__(self, meanwhile: Callable[[], object]) -> None:
        self._meanwhile = meanwhile

    def is_needed(self, submission: Submission) -> bool:
        return True

    async def objection(self, submission: Submission) -> str:
        self._meanwhile()
        return ""


class NoSubAgents:
    """Nobody asks for one."""

    def make(self, given: SubagentInput) -> SubAgent:
        raise AssertionError(given)


class Parrot:
    """A model that always says the same."""

    def __init__(self) -> None:
        self.requests: list[ModelRequest] = []

    async def complete(
        self, request: ModelRequest, *, on_text: Callable[[str], None]
    ) -> ModelReply:
        self.requests.append(request)
        message = Message(role="assistant", blocks=(Text(text="go on"),))
        return ModelReply(message=message, stop=StopReason.END_TURN)


class Office:
    """A worker's desk with all it works with: board, mail, queue, lane; the worker is the test."""

    def __init__(
        self,
        folder: Path,
        *,
        meanwhile: Callable[[], object] | None = None,
        letters: list[MailSent] | None = None,
    ) -> None:
        self.case = case = QueueCase(make_repo(folder))
        self.paths = case.repository.paths
        self.board = TaskBoard(self.paths, clock=case.clock)
        self.mailbox = Mailbox(self.paths, clock=case.clock)
        self.board.add(TaskDraft(subject="one", attempts_allowed=9), by="person")
        task = self.board.claim(worker="w1", role="", lease=LEASE)
        assert task is not None
        self.claim = current_claim(task)
        self.lane = case.lane(1)
        self.temporary = folder / "tmp"
        self.temporary.mkdir()
        member = Member(
            name="w1",
            role="",
            is_named=False,
            model="",
            since=case.clock(),
            clock=case.clock,
            on_change=lambda member: None,
        )
        member.may_go.set()
        self.hand_in = HandIn(
            repository=case.repository,
            task=task,
            claim=self.claim,
            lane=self.lane,
            member=member,
            board=self.board,
            merging=MergeDriver(
                case.queue, self.board, EventBus(clock=case.clock), after_landing=lambda: None
            ),
            landed_ref=case.queue.landed_ref,
            approve=_no_objection,
            reviews=SlowReview(meanwhile) if meanwhile else NoReviews(),
            mask=lambda text: text.replace("s3cret", "***"),
            may_complete=_no_objection,
        )
        self.model = Parrot()
        self.warnings: list[MailSent] = []
        self.desk = WorkerDesk(
            member=member,
            claim=self.claim,
            board=self.board,
            mailbox=self.mailbox,
            brain=LocalBrain(
                Session(self.paths.sessions / "t1-1.jsonl", clock=case.clock),
                self.model,
                head=lambda: Head(agent="w1", task="one", model="m", system=""),
                specs=lambda: (),
                price=None,
                on_text=lambda text: None,
                on_paid=lambda usage, cost: None,
                before_request=lambda: None,
                mask=lambda text: text,
                window_tokens=200_000,
                needs=FakeNeeds(),
                clock=case.clock,
            ),
            pool=self._pool(folder),
            assigned=Assigned(
                worker="w1",
                lane=str(self.lane.path),
                temporary=str(self.temporary),
                environment={},
                tools=("bash",),
                opening=said("go"),
                beat_seconds=1.0,
            ),
            lease=LEASE,
            subagents=RemoteSubAgents(NoSubAgents()),
            clash_letters=self._clash_letters,
            on_greet=lambda: None,
            letters=[] if letters is None else letters,
            hand_in=self.hand_in,
            mask=lambda text: text,
            may_stop=lambda words, is_again: _no_objection(),
        )

    def _pool(self, folder: Path) -> ToolPool:
        order = Order()
        safe = ToolSubject(risk=Risk.SAFE, text="")
        return ToolPool(
            lambda: {
                "send_message": pooled(
                    "send_message",
                    "Sends.",
                    Letter,
                    place=Place.LEAD,
                    subject=lambda given: safe,
                    run=self._send,
                ),
                "bash": pooled(
                    "bash",
                    "Runs.",
                    Letter,
                    place=Place.LANE,
                    subject=lambda given: safe,
                    run=None,
                ),
            },
            standing=lambda: Standing(
                agent="w1",
                mode=Mode.AUTO,
                ground=Ground(
                    root=folder,
                    main_checkout=folder,
                    home=folder / "home",
                    user_folder=folder / "user",
                ),
            ),
            permissions=PermissionManager(Rules(), mode=Mode.AUTO, store=lambda rule: None),
            hooks=FakeHooks(order),
            asker=FakeAsker(order),
            watcher=FakeWatcher(order),
            trim=lambda call_id, text: text,
            clock=count().__next__,
        )

    async def _clash_letters(self) -> list[MailSent]:
        warnings, self.warnings = self.warnings, []
        return warnings

    async def _send(self, given: Letter) -> ToolResult:
        self.mailbox.send(sender="w1", to=("lead",), body=given.text)
        return ToolResult(text="sent")

    def lose_task(self) -> None:
        """Has the worker taken for lost and another one take the task."""
        self.desk.lose_claim("silent")
        while self.board.claim(worker="w2", role="", lease=LEASE) is None:
            self.case.clock()

    @property
    def written(self) -> dict[str, bytes]:
        """What is in the journals."""
        files = (self.paths.board, self.paths.mail, self.paths.queue)
        return {path.name: path.read_bytes() for path in files if path.exists()}


async def _no_objection(*_: object) -> str:
    return ""


def letter(text: str) -> ToolCall:
    return ToolCall(call_id="c2", name="send_message", input={"text": text})


def test_all_a_worker_writes_counts_while_it_has_its_task(tmp_path: Path) -> None:
    """What the next test shows refused."""

    async def work() -> None:
        office = Office(tmp_path)
        office.desk.heard()
        assert b"renewed" in office.written["board.jsonl"]
        assert (await office.desk.think(said("hello"))).message.text == "go on"
        assert (await office.desk.open(letter("hello"))) == ToolResult(text="sent")
        assert b"hello" in office.written["mail.jsonl"]
        running = ToolCall(call_id="c1", name="bash", input={})
        assert await office.desk.open(running) == running
        assert await office.desk.close("c1", ToolResult(text="ran")) == ToolResult(text="ran")
        assert await office.desk.turn_over("I am done", "") is not None
        assert not office.paths.result(1, 1).exists()

    asyncio.run(work())


def test_think_when_a_conflict_is_coming_then_the_model_is_told_once(tmp_path: Path) -> None:
    async def work() -> None:
        office = Office(tmp_path)
        office.warnings = [
            MailSent(at=NOW, mail_id=0, sender="merge queue", to="w1", body="It conflicts.")
        ]
        await office.desk.think(said("a result"))
        await office.desk.think(said("the next"))

        told = [request.messages[-1].text for request in office.model.requests]
        assert "It conflicts." in told[0]
        assert told[1] == "the next"

    asyncio.run(work())


def test_submit_when_the_branch_moves_during_the_review_then_the_review_does_not_count(
    tmp_path: Path,
) -> None:
    async def work() -> None:
        office = Office(
            tmp_path,
            meanwhile=lambda: office.case.repo.commit(
                {"more.txt": "unseen\n"}, "more", at=office.lane.path
            ),
        )
        office.case.repo.commit({"a.txt": "seen\n"}, "seen", at=office.lane.path)

        with pytest.raises(ModelFault, match=r"moved while .* was reviewed"):
            await office.hand_in.submit(summary="seen", no_changes_reason="")

        assert office.case.queue.entries() == []

    asyncio.run(work())


def test_worker_that_speaks_for_a_sub_agent_nobody_let_begin_is_broken(tmp_path: Path) -> None:
    async def work() -> None:
        office, via = Office(tmp_path), ("c1",)
        for asked in (
            office.desk.think(said("hi"), via),
            office.desk.keep(said("hi"), via),
            office.desk.open(letter("hi"), via),
            office.desk.close("c2", ToolResult(text="done"), via),
            office.desk.turn_over("done", "", via),
        ):
            with pytest.raises(WorkerBroken):
                await asked
        assert office.model.requests == []

    asyncio.run(work())


def test_nothing_a_worker_writes_counts_once_another_has_its_task_and_all_is_kept(
    tmp_path: Path,
) -> None:
    async def work() -> None:
        office = Office(tmp_path)
        running = ToolCall(call_id="c1", name="bash", input={})
        assert await office.desk.open(running) == running
        office.case.repo.commit({"late.txt": "late\n"}, "late", at=office.lane.path)
        office.lose_task()
        before = office.written

        office.desk.heard()
        await office.desk.close("c1", ToolResult(text="late output, s3cret"))
        reply = await office.desk.think(said("late output, s3cret"))
        opened = await office.desk.open(letter("late mail"))
        with pytest.raises(ModelFault, match="no longer the current one"):
            await office.hand_in.submit(summary="late summary", no_changes_reason="")
        next_turn = await office.desk.turn_over("late words", "")

        assert (reply.message.blocks, office.model.requests) == ((), [])
        assert opened == ToolResult(text=STALE, is_error=True, ends_turn=True)
        assert next_turn is None
        assert office.written == before
        assert office.board.task(1).worker == "w2"
        assert office.case.queue.entries() == []
        head, _, body = office.paths.result(1, 1).read_text().removeprefix("---\n").partition("---")
        assert "outcome: 'stale'" in head
        assert body.strip().split("\n\n") == [
            "late output, ***",
            'send_message {"text":"late mail"}',
            "late summary",
            "late words",
        ]

    asyncio.run(work())


LONG = "x" * 9_000 + "THE END"


def test_long_message_is_laid_where_the_worker_can_read_all_of_it(tmp_path: Path) -> None:
    async def story() -> None:
        office = Office(tmp_path)
        office.mailbox.send(sender="lead", to=["w1"], body=LONG)
        await office.desk.think(said("go on"))

        (laid,) = (office.temporary / "mail").iterdir()
        assert laid.read_text() == LONG
        assert f"The whole message is in {laid}; read_file" in last_words(office)

    asyncio.run(story())


def test_link_in_the_place_of_the_mail_leads_nothing_outside(tmp_path: Path) -> None:
    async def story() -> None:
        office, elsewhere = Office(tmp_path), tmp_path / "elsewhere"
        elsewhere.mkdir()
        (office.temporary / "mail").symlink_to(elsewhere)
        (office.temporary / "mail" / "unguarded").write_text("got out")
        assert [path.name for path in elsewhere.iterdir()] == ["unguarded"]
        office.mailbox.send(sender="lead", to=["w1"], body=LONG)
        await office.desk.think(said("go on"))

        assert [path.name for path in elsewhere.iterdir()] == ["unguarded"]
        assert "characters more could not be laid beside you" in last_words(office)
        assert office.mailbox.unread("w1") == []

    asyncio.run(story())


def test_long_message_whose_file_was_swept_away_is_told_by_its_head(tmp_path: Path) -> None:
    async def story() -> None:
        office = Office(tmp_path)
        office.mailbox.send(sender="lead", to=["w1"], body=LONG)
        for path in office.mailbox.folder.iterdir():
            path.unlink()
        await office.desk.think(said("go on"))

        assert (
            "[5007 characters more could not be laid beside you: They are kept for some days only. "
            "Ask lead.]"
        ) in last_words(office)

    asyncio.run(story())


def last_words(office: Office) -> str:
    return office.model.requests[-1].messages[-1].text


def test_silent_worker_whose_work_was_handed_in_keeps_its_task_until_the_verdict(
    tmp_path: Path,
) -> None:
    async def story() -> None:
        office = Office(tmp_path)
        office.hand_in.is_handed_in = True
        office.desk.lose_claim("silent")
        assert office.board.is_current(office.claim)
        office.hand_in.is_handed_in = False
        office.desk.lose_claim("silent")
        assert not office.board.is_current(office.claim)

    asyncio.run(story())


def test_silent_worker_whose_work_is_reviewed_keeps_its_task(tmp_path: Path) -> None:
    async def story() -> None:
        def look() -> None:
            office.desk.lose_claim("silent")
            assert office.board.is_current(office.claim)
            raise ModelFault("smaller")

        office = Office(tmp_path, meanwhile=look)
        office.case.repo.commit({"a.txt": "a\n"}, "a", at=office.lane.path)
        with pytest.raises(ModelFault, match="smaller"):
            await office.hand_in.submit(summary="a", no_changes_reason="")
        office.desk.lose_claim("silent")
        assert not office.board.is_current(office.claim)

    asyncio.run(story())


def test_mail_an_attempt_has_read_is_told_to_the_next_one_at_the_task_once(tmp_path: Path) -> None:
    """The first one read it, and was lost before it could do anything about it."""
    letters: list[MailSent] = []

    async def attempt(folder: str, body: str) -> list[str]:
        (tmp_path / folder).mkdir()
        office = Office(tmp_path / folder, letters=letters)
        office.mailbox.send(sender="lead", to=["w1"], body=body)
        await office.desk.think(said("go on"))
        assert office.mailbox.unread("w1") == []
        told = last_words(office)
        await office.desk.think(said("on"))
        return [told, last_words(office)]

    async def story() -> None:
        first = await attempt("one", "Make it blue.")
        second = await attempt("two", "And small.")

        assert [words.count("Make it blue.") for words in first] == [1, 0]
        assert [words.count("Make it blue.") for words in second] == [1, 0]
        assert second[0].index("Make it blue.") < second[0].index("And small.")
        assert [letter.body for letter in letters] == ["Make it blue.", "And small."]

    asyncio.run(story())

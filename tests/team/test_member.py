"""What a worker is shown to be at, since when, and until when."""

from datetime import timedelta

import pytest

from modules.records.crew import WorkerState, WorkerView
from modules.team.member import Member
from tests.fakes.clock import START, FakeClock

MINUTE = timedelta(minutes=1)


class Shown:
    """A worker and every view of it that was told."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.told: list[WorkerView] = []
        self.member = Member(
            name="w1",
            role="",
            is_named=False,
            model="",
            since=self.clock.now,
            clock=self.clock,
            on_change=lambda member: self.told.append(member.view()),
        )

    def later(self) -> None:
        self.clock.move(minutes=1)

    @property
    def states(self) -> list[str]:
        return [f"{view.state} {view.doing}".strip() for view in self.told]


def test_worker_that_waits_is_shown_with_what_for_since_when_and_until_when() -> None:
    shown = Shown()
    shown.member.set_state(WorkerState.WORKING)
    shown.later()

    with shown.member.waiting("the lead's answer", until=START + 9 * MINUTE):
        shown.later()
        assert shown.member.view() == WorkerView(
            name="w1",
            role="",
            state=WorkerState.WAITING,
            since=START + MINUTE,
            until=START + 9 * MINUTE,
            doing="the lead's answer",
        )

    assert shown.member.view() == WorkerView(
        name="w1", role="", state=WorkerState.WORKING, since=START
    )
    assert shown.states == ["working", "waiting the lead's answer", "working"]


def test_wait_that_breaks_off_is_over() -> None:
    shown = Shown()
    shown.member.set_state(WorkerState.WORKING)

    with pytest.raises(TimeoutError), shown.member.waiting("a person's answer"):
        raise TimeoutError

    assert shown.member.view().state is WorkerState.WORKING


def test_of_waits_at_once_the_last_that_goes_on_is_shown() -> None:
    shown = Shown()
    shown.member.set_state(WorkerState.WORKING)
    outer, inner = shown.member.waiting("one"), shown.member.waiting("two")

    outer.__enter__()
    inner.__enter__()
    outer.__exit__(None, None, None)
    assert shown.member.view().doing == "two"
    inner.__exit__(None, None, None)

    assert shown.states == ["working", "waiting one", "waiting two", "working"]


def test_worker_that_is_stopped_while_it_waits_is_shown_as_stopping() -> None:
    shown = Shown()
    shown.member.set_state(WorkerState.WORKING)

    with shown.member.waiting("the merge queue"):
        shown.member.set_state(WorkerState.STOPPING, until=START + MINUTE)
        view = shown.member.view()

    assert (view.state, view.until, view.doing) == (WorkerState.STOPPING, START + MINUTE, "")
    assert shown.states == ["working", "waiting the merge queue", "stopping"]


def test_limit_of_a_state_is_told_once_it_is_known_and_ends_with_it() -> None:
    shown = Shown()
    shown.member.set_state(WorkerState.STARTING)
    shown.member.set_state(WorkerState.STARTING, until=START + MINUTE)
    shown.member.set_state(WorkerState.STARTING)
    shown.member.set_state(WorkerState.WORKING)

    assert [(str(view.state), view.until) for view in shown.told] == [
        ("starting", None),
        ("starting", START + MINUTE),
        ("working", None),
    ]


def test_paused_worker_rests_after_its_step_and_at_once_where_it_is_at_none() -> None:
    shown = Shown()
    shown.member.rest()
    shown.later()
    shown.member.rest()
    assert shown.member.view() == WorkerView(
        name="w1", role="", state=WorkerState.WAITING, since=START, doing="/resume"
    )
    shown.member.go_on()
    assert shown.member.view().state is WorkerState.IDLE
    assert shown.states == ["waiting /resume", "idle"]

    shown.member.set_state(WorkerState.WORKING)
    shown.member.rest()
    assert shown.member.view().doing == "this step, then rests"
    shown.member.doing = "bash"
    assert (shown.member.view().state, shown.member.view().doing) == (
        WorkerState.WORKING,
        "bash, then rests",
    )
    with shown.member.waiting("/resume"):
        assert (shown.member.view().state, shown.member.view().doing) == (
            WorkerState.WAITING,
            "/resume",
        )

"""Trust is asked on a terminal, answered by a typed y or n, and pinned to what was shown."""

import asyncio
from pathlib import Path

import pytest

from modules.app.screen import Screen
from modules.app.terminal import End, Given, Interrupt, Line, View
from modules.app.trust_question import Asked, ask_for_trust, unused_settings
from modules.safety.trust import TrustStatus, TrustStore
from tests.fakes.terminal import FakeTerminal


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "repo"
    folder.mkdir()
    (folder / "team.toml").write_text('check = "make it"\n')
    return folder


@pytest.fixture
def store(tmp_path: Path) -> TrustStore:
    return TrustStore(tmp_path / "user")


def ask(root: Path, terminal: FakeTerminal) -> Asked:
    user_folder = root.parent / "user"
    user_folder.mkdir(exist_ok=True)
    return asyncio.run(
        ask_for_trust(terminal, Screen(terminal), root=root, user_folder=user_folder)
    )


def typed(text: str) -> Line:
    return Line(text=text, topic="trust")


def test_y_trusts_what_was_shown_and_is_not_asked_again(root: Path, store: TrustStore) -> None:
    terminal = FakeTerminal(typed("y"))

    assert ask(root, terminal) is Asked.GO_ON

    assert "make it" in terminal.text
    assert store.status(root) is TrustStatus.TRUSTED
    assert unused_settings(root=root, user_folder=root.parent / "user") == ""
    again = FakeTerminal()
    assert ask(root, again) is Asked.GO_ON
    assert again.text == ""


def test_n_denies_and_the_console_goes_on_without(root: Path, store: TrustStore) -> None:
    assert ask(root, FakeTerminal(typed("no"))) is Asked.GO_ON

    assert store.status(root) is TrustStatus.DENIED
    assert "team.toml" in unused_settings(root=root, user_folder=root.parent / "user")


@pytest.mark.parametrize(
    "given",
    [Line(text="y", is_pasted=True, topic="trust"), Line(text="y"), typed(""), typed("yes please")],
    ids=["pasted", "typed before", "empty", "other words"],
)
def test_nothing_else_answers(given: Given, root: Path, store: TrustStore) -> None:
    terminal = FakeTerminal(given, End())

    assert ask(root, terminal) is Asked.LEAVE

    assert "Type y or n" in terminal.text
    assert store.status(root) is TrustStatus.UNKNOWN


def test_ctrl_c_leaves_without_an_answer(root: Path, store: TrustStore) -> None:
    assert ask(root, FakeTerminal(Interrupt(at=0.0, has_text=False))) is Asked.INTERRUPTED

    assert store.status(root) is TrustStatus.UNKNOWN


def test_changed_settings_are_asked_about_and_say_so(root: Path, store: TrustStore) -> None:
    ask(root, FakeTerminal(typed("y")))
    (root / "team.toml").write_text('check = "make another"\n')
    terminal = FakeTerminal(typed("n"))

    assert ask(root, terminal) is Asked.GO_ON

    assert "other settings than those you trusted" in terminal.text
    assert "make another" in terminal.text


def test_file_that_changes_while_the_person_reads_is_not_trusted(
    root: Path, store: TrustStore
) -> None:
    class Reading(FakeTerminal):
        async def next(self) -> Given:
            (root / "team.toml").write_text('check = "make evil"\n')
            return typed("y")

    assert ask(root, Reading()) is Asked.GO_ON

    assert store.status(root) is TrustStatus.CHANGED


def test_folder_without_settings_is_not_asked_about(root: Path) -> None:
    (root / "team.toml").unlink()
    terminal = FakeTerminal()

    assert ask(root, terminal) is Asked.GO_ON

    assert terminal.text == ""
    assert terminal.view() == View()

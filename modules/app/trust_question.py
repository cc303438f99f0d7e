"""Asks whether a repository's own settings may be used, before any of them is.

1. Asked is on a terminal alone, and once for each content; without a terminal they are not used.
2. Only a typed y or n answers, on a line begun after the question was seen; nothing pasted does.
3. Trusted is what was shown: a file that changes meanwhile is unknown again.
"""

from enum import StrEnum
from pathlib import Path

from modules.app.screen import Screen
from modules.app.terminal import End, Interrupt, Line, Terminal, View
from modules.safety.trust import (
    Offered,
    TrustStatus,
    TrustStore,
    read_what_would_be_trusted,
)

_TOPIC = "trust"
_VIEW = View(sign="Use them? y/n ", topic=_TOPIC)


class Asked(StrEnum):
    """What came of the question."""

    GO_ON = "go on"
    LEAVE = "leave"
    INTERRUPTED = "interrupted"


async def ask_for_trust(
    terminal: Terminal, screen: Screen, *, root: Path, user_folder: Path
) -> Asked:
    """Asks the person where there is something to ask; returns whether they stay."""
    store = TrustStore(user_folder)
    status = store.status(root)
    if status not in (TrustStatus.UNKNOWN, TrustStatus.CHANGED):
        return Asked.GO_ON
    offered = read_what_would_be_trusted(root)
    if not offered.files:
        return Asked.GO_ON
    changed = " other settings than those you trusted" if status is TrustStatus.CHANGED else ""
    screen.line(f"{root} brings{changed or ' settings'} that can run commands:", "bold")
    screen.lines((f"  {line}" for line in offered.lines), "yellow")
    usual, terminal.view = terminal.view, lambda: _VIEW
    terminal.redraw()
    try:
        return await _answer(terminal, screen, store, root, offered)
    finally:
        terminal.view = usual


async def _answer(
    terminal: Terminal, screen: Screen, store: TrustStore, root: Path, offered: Offered
) -> Asked:
    while True:
        match await terminal.next():
            case End():
                return Asked.LEAVE
            case Interrupt():
                return Asked.INTERRUPTED
            case Line() as line:
                answer = "" if line.is_pasted or line.topic != _TOPIC else line.text.strip().lower()
        screen.echo(line.text)
        if answer in ("y", "yes"):
            store.add(root, offered)
            return Asked.GO_ON
        if answer in ("n", "no"):
            store.deny(root)
            screen.line("They are not used. `crewyard trust add` lets them be used.")
            return Asked.GO_ON
        screen.line("Type y or n. Ctrl-D leaves, and you are asked again next time.")


def unused_settings(*, root: Path, user_folder: Path) -> str:
    """Returns which of a repository's settings are not used; empty when all there are are used."""
    if TrustStore(user_folder).status(root) is TrustStatus.TRUSTED:
        return ""
    files = read_what_would_be_trusted(root).files
    return f"{', '.join(files)}: not used (`crewyard trust add`)" if files else ""

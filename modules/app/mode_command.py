"""The console's /mode: shows how much the agents may do unasked, and changes it.

1. Without a word it shows the mode, and what each mode means.
2. A lower mode counts for every agent's next call.
3. A higher one counts for the lead and for the workers that begin from then on; with `all` for
   those at work as well. None gets more than it was given when it was spawned, and a plan that has
   to come first still does.
4. `next` goes through plan, default, auto, acceptEdits and round; Shift-Tab says it.
5. yolo wants a `yes` behind it. Without, what it means is told and nothing changes.
6. Each change is in the lead's journal. One that raises the mode counts only if it could be
   written; one that lowers it always counts.
"""

from collections.abc import Callable, Iterator
from itertools import pairwise

from rich.table import Table

from modules.app.house import House
from modules.records.decisions import Mode
from modules.records.errors import PersonFault
from modules.records.events import ModeChanged
from modules.records.session_records import AnySessionRecord, ModeSet

ALL, NEXT, YES = "all", "next", "yes"
_ROUND = (Mode.PLAN, Mode.DEFAULT, Mode.AUTO, Mode.ACCEPT_EDITS)
_MEANS = {
    Mode.PLAN: "reads only; what would change something is denied",
    Mode.DEFAULT: "asks about whatever is not known to only read",
    Mode.AUTO: "as default; workers change and run what stays in their sandbox unasked",
    Mode.ACCEPT_EDITS: "as auto; files are changed unasked, in your checkout too",
    Mode.YOLO: "asks about nothing but what is critical",
}
_HOW = (
    "/mode MODE changes it, Shift-Tab goes to the next; /mode MODE all also raises workers that "
    "are at work."
)


class ModeCommand:
    """Shows and changes the mode of one run; `note` writes to the lead's journal."""

    def __init__(self, house: House, note: Callable[[AnySessionRecord], None]) -> None:
        self._house = house
        self._note = note

    def lines(self, words: str) -> Iterator[str | Table]:
        """Does what the words behind the command say; yields what the person is to read."""
        name, *more = words.lower().split() or [""]
        mode = self._named(name)
        for_all = ALL in more
        if not name:
            yield from self._shown()
        elif mode is None or set(more) - {ALL, YES}:
            wrong = f"There is no mode {name!r}" if mode is None else f"{words!r} is no mode"
            yield f"{wrong}; there are {', '.join(Mode)}."
            yield _HOW
        elif mode is self._mode and not for_all:
            yield f"The mode is {mode} already."
        elif mode is Mode.YOLO and YES not in more:
            yield self._warning(for_all=for_all)
        else:
            yield from self._set(mode, for_all=for_all)

    @property
    def _mode(self) -> Mode:
        return self._house.permissions.mode

    def _named(self, name: str) -> Mode | None:
        if name == NEXT:
            following = dict(pairwise((*_ROUND, _ROUND[0])))
            return following.get(self._mode, _ROUND[0])
        return next((one for one in Mode if one.lower() == name), None)

    def _shown(self) -> Iterator[str | Table]:
        table = Table(box=None, pad_edge=False, show_header=False, padding=(0, 1, 0, 0))
        for mode, meaning in _MEANS.items():
            table.add_row("*" if mode is self._mode else " ", mode, meaning)
        yield table
        yield _HOW

    def _warning(self, *, for_all: bool) -> str:
        who = (
            "the lead and every worker, also those at work,"
            if for_all
            else "the lead, and workers that begin from now on,"
        )
        contained = (
            "the sandbox keeps workers in their worktrees"
            if self._house.sandbox.is_jail
            else "there is no sandbox, so what workers run has all your rights"
        )
        again = f"/mode {Mode.YOLO} {ALL} {YES}" if for_all else f"/mode {Mode.YOLO} {YES}"
        return (
            f"In yolo mode {who} ask about nothing but what is critical: the lead changes and "
            "deletes files of your checkout unasked, and MCP servers and addresses are used "
            f"unasked. Deny and ask rules hold, and {contained}. Type {again} if you want that."
        )

    def _set(self, mode: Mode, *, for_all: bool) -> Iterator[str]:
        permissions, before, at = self._house.permissions, self._mode, self._house.clock()
        try:
            self._note(ModeSet(at=at, mode=mode, before=before, for_all=for_all))
        except PersonFault as error:
            yield error.line
            if mode.rank >= before.rank:
                yield f"So the mode stays {before}."
                return
            for_all = False  # It may raise some that are at work.
        permissions.set_mode(mode, for_all=for_all)
        self._house.events.emit(ModeChanged(at=at, mode=mode, before=before, for_all=for_all))

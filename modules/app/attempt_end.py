"""How attempts end that are broken off: what the board keeps, and whether more are begun.

1. What only a person can mend parks the task; without a person it ends the run.
2. A quota or a budget of its own parks the task, for as long as is known.
3. A worker that does not come up counts against its task. After some in a row, without one between
   that did, nobody more is started until the person has looked; without one the run ends.
4. Anything else is a failed attempt.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from modules.app.budget import BudgetSpent
from modules.app.house import House
from modules.records.errors import CrewyardError, PersonFault, QuotaFault
from modules.records.events import CrewHeld
from modules.records.exits import Exit
from modules.team.broker import WorkerNotUp

MOST_STARTS_IN_VAIN = 5
"""Workers in a row that did not come up; after that no more are started."""


@dataclass(frozen=True, slots=True)
class AttemptEnd:
    """Why an attempt ended, as the board keeps it where the task is not completed."""

    reason: str
    is_failure: bool
    is_parked: bool = False
    """True where the task is to rest without an attempt being used up."""
    parked_until: datetime | None = None
    """None: until somebody retries it."""


class AttemptEnds:
    """Judges what broke attempts off, for one lead; `hold` lets the whole crew rest."""

    def __init__(self, house: House, *, hold: Callable[[], None]) -> None:
        self._house = house
        self._hold = hold
        self._starts_in_vain = 0

    def note_start(self) -> None:
        """Notes that a worker came up."""
        self._starts_in_vain = 0

    def of(self, error: CrewyardError) -> AttemptEnd:
        """Returns how an attempt ends that `error` broke off; may hold the crew or end the run."""
        match error:
            case WorkerNotUp():
                self._starts_in_vain += 1
                if self._starts_in_vain == MOST_STARTS_IN_VAIN:
                    self._hold_crew(error)
                return AttemptEnd(reason=str(error), is_failure=True)
            case QuotaFault():
                return AttemptEnd(
                    reason=str(error), is_failure=False, is_parked=True, parked_until=error.until
                )
            case BudgetSpent() if not error.is_whole_run:
                return AttemptEnd(reason=str(error), is_failure=False, is_parked=True)
            case PersonFault() if error.exit_code in (Exit.USAGE, Exit.LIMIT):
                return self._end_for_a_person(error)
            case PersonFault():
                return AttemptEnd(reason=error.line, is_failure=True)
            case _:
                return AttemptEnd(reason=str(error), is_failure=True)

    def _end_for_a_person(self, error: PersonFault) -> AttemptEnd:
        """Lets the task wait for the person; without one the run ends, for all would fail alike."""
        house = self._house
        if house.questions.has_person:
            house.events.notice(error.line)
            return AttemptEnd(reason=error.line, is_failure=False, is_parked=True)
        if not house.failed.done():
            house.failed.set_exception(error)
        return AttemptEnd(reason=error.line, is_failure=False)

    def _hold_crew(self, error: WorkerNotUp) -> None:
        """Starts no more workers until the person has looked; without one the run ends."""
        house = self._house
        why = f"{MOST_STARTS_IN_VAIN} workers in a row did not come up. {error}"
        self._starts_in_vain = 0
        if house.questions.has_person:
            self._hold()
            house.events.emit(CrewHeld(at=house.clock(), why=why))
        elif not house.failed.done():
            fault = PersonFault(why, hint="See `crewyard doctor`.", exit_code=Exit.FAILED)
            house.failed.set_exception(fault)

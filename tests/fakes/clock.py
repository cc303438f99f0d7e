"""A clock that goes only when it is told to."""

from datetime import UTC, datetime, timedelta

START = datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC)


class FakeClock:
    """Returns the same time until it is moved."""

    def __init__(self, now: datetime = START) -> None:
        self.now = now

    def __call__(self) -> datetime:
        return self.now

    def move(self, **by: float) -> datetime:
        """Moves the clock by a timedelta's arguments and returns the time then."""
        self.now += timedelta(**by)
        return self.now

"""Checks what has landed by itself, and tells, once, that it does not pass.

1. One alarm for each commit that has landed, however many entries meet it.
2. While it is on no entry is blamed.
3. What could not be run or found no tests is tried again after half a minute, then after twice the
   time before, a quarter of an hour at most: a disk gets room, a program is installed. What failed
   is tried again when the queue is taken up after a pause as long.
"""

from datetime import datetime, timedelta

from modules.records.queue_records import AlarmEnded, AlarmRaised
from modules.team.chain import Stack
from modules.team.evidence import Evidence
from modules.team.probe_plan import Ground
from modules.team.probes import Probes
from modules.team.queue_log import QueueLog

_FIRST_PAUSE = timedelta(seconds=30)
_LONGEST_PAUSE = timedelta(minutes=15)


class Alarm:
    """The alarm of one target."""

    def __init__(
        self, log: QueueLog, evidence: Evidence, probes: Probes, *, target: str, check: str
    ) -> None:
        self._log = log
        self._evidence = evidence
        self._probes = probes
        self._target = target
        self._check = check
        self._pause = _FIRST_PAUSE
        self._again_at: datetime | None = None
        """None when nothing was tried in this run."""
        self._is_due = False

    @property
    def raised(self) -> AlarmRaised | None:
        """What was raised and is not over."""
        return self._log.state.alarms.get(self._target)

    @property
    def retry_seconds(self) -> float | None:
        """How long until what told nothing should be tried again; None when nothing did."""
        if self.raised is None or not self.raised.is_silent:
            return None
        if self._again_at is None:
            return 0.0
        return max((self._again_at - self._log.clock()).total_seconds(), 0.0)

    def is_on(self, ground: Stack) -> bool:
        """True while what has landed is known not to pass."""
        return self.raised is not None and self.raised.commit == ground.top.commit

    def begin(self) -> None:
        """Takes in that the queue is taken up anew."""
        is_late = self._again_at is None or self._log.clock() >= self._again_at
        self._is_due = self.raised is not None and is_late
        if self._is_due:
            self._put_off()

    def check_if_due(self, ground: Stack, *, free: int) -> None:
        """Starts a check of what has landed when it is time to look again."""
        if self._is_due and free > 0:
            self._is_due = False
            self.check(ground)

    def check(self, ground: Stack) -> None:
        """Starts a check of what has landed."""
        self._probes.start(ground, (self._check,), name="landed")

    def is_over(self, ground: Stack) -> bool:
        """Raises or ends the alarm as the checks say; returns whether it has just ended."""
        judged = self._evidence.ground(ground)
        if judged is Ground.BAD:
            self.sound(ground)
        if judged is not Ground.GOOD or not self.is_on(ground):
            return False
        self._pause, self._again_at = _FIRST_PAUSE, None
        self._log.note(AlarmEnded(at=self._log.clock(), target=self._target))
        return True

    def sound(self, ground: Stack) -> None:
        """Raises the alarm, if it isn't on; from now on only a new pass ends it."""
        proof, landed = self._evidence.ground_failure(ground), ground.top.commit
        self._probes.forget_passes(ground)
        self._probes.forget_misses([ground])
        why = f"{self._target!r} itself does not pass, at {landed[:12]}: {proof.text}"
        before = self.raised
        if before is None or before.commit != landed:
            self._pause = _FIRST_PAUSE
            self._put_off()
        if before is None or (before.commit, before.why) != (landed, why):
            self._log.note(
                AlarmRaised(
                    at=self._log.clock(),
                    target=self._target,
                    commit=landed,
                    why=why,
                    is_silent=not proof.is_red,
                )
            )

    def _put_off(self) -> None:
        self._again_at = self._log.clock() + self._pause
        self._pause = min(2 * self._pause, _LONGEST_PAUSE)

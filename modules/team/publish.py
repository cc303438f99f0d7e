"""Lets the target branch follow what has landed, and what has landed follow the person.

The rules are in merge_rules (4) and git.following; here they are carried out: every move of the
branch is written to the journal before and after, and one that was cut off is put right first.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import assert_never

from modules.git.following import follow, hindrance, holder_git, put_right
from modules.git.refs import (
    LANDED,
    PUBLISHED,
    Head,
    RefMoved,
    durable,
    is_ancestor,
    move_ref,
    move_refs,
    read_refs,
    read_tips,
    set_ref,
)
from modules.git.repository import Repository
from modules.git.run_git import Git, GitTimedOut
from modules.records.queue_records import PublishEnded, PublishIntended, TargetAdopted
from modules.team.merge_rules import Position, position
from modules.team.queue_log import QueueLog


@dataclass(frozen=True, slots=True)
class Sight:
    """Where things stood when they were last looked at; all are commits."""

    target: str = ""
    landed: str = ""
    published: str = ""
    where: Position = Position.LEVEL


class Publisher:
    """Keeps one target branch and what has landed on it together."""

    def __init__(
        self, repository: Repository, log: QueueLog, *, step: Callable[[str], None]
    ) -> None:
        self._repository = repository
        self._git = repository.git
        self._log = log
        self._step = step
        self.landed_ref = LANDED + repository.target
        self._published_ref = PUBLISHED + repository.target
        self._ancestry: dict[tuple[str, str], bool] = {}
        self._tried = ("", "")
        """The target and what had landed, when following was last tried."""
        self.seen = Sight()
        self.held = ""
        """Why the target branch does not follow; empty when it does."""
        self.problem = ""
        """What is wrong with the target branch itself, so that nothing may land."""

    @property
    def landed(self) -> str:
        """The commit that has landed last; the target branch's own before the first landing."""
        refs = read_refs(self._git, self.landed_ref, self._repository.target_ref)
        return refs.get(self.landed_ref) or refs.get(self._repository.target_ref, "")

    def look(self, *also: str) -> dict[str, Head]:
        """Reads where branch and landings stand, and adopts commits put on top of landings.

        Returns the tips of the refs it read, those named in `also` among them.
        """
        names = (self._repository.target_ref, self.landed_ref, self._published_ref)
        tips = read_tips(self._git, *names, *also)
        commits = (tips[name].commit if name in tips else "" for name in names)
        target, landed, published = self._begun(*commits)
        where = position(
            target=target, landed=landed, published=published, is_ancestor=self._is_ancestor
        )
        self.problem = self._problem(where, landed, target)
        if where is Position.AHEAD:
            move_ref(durable(self._git), self.landed_ref, new=target, old=landed)
            self._note_adoption(landed, target)
            landed, where = target, Position.LEVEL
        if where is Position.LEVEL and published != landed:
            set_ref(self._git, self._published_ref, landed)
            published = landed
        self.seen = Sight(target, landed, published, where)
        return tips

    def land(self, old: str, new: str) -> None:
        """Moves what has landed from `old` to `new`, and the branch with it when it is free to.

        Raises RefMoved when either is not where it was seen.
        """
        target, seen = self._repository.target_ref, self.seen
        landing = (self.landed_ref, new, old)
        if self._is_free():
            along = ((target, new, seen.target), (self._published_ref, new, seen.published))
            move_refs(durable(self._git), (landing, *along))
            self.seen = Sight(new, new, new, Position.LEVEL)
            return
        still = [(target, seen.target)] if seen.target else []
        move_refs(durable(self._git), (landing,), still=still)
        self._ancestry |= {(old, new): True, (new, old): False}
        where = Position.BEHIND if seen.where is Position.LEVEL else seen.where
        self.seen = replace(seen, landed=new, where=where)

    def follow(self, *, anew: bool = False) -> None:
        """Lets the branch follow; what was refused is tried again once it differs, or `anew`."""
        now = (self.seen.target, self.seen.landed)
        if now == self._tried and not anew:
            return
        self._tried = now
        self.held = self._put_right() or self._follow()

    def _begun(self, target: str, landed: str, published: str) -> tuple[str, str, str]:
        """Makes our refs where there are none: by then all that is on the branch has landed."""
        if target and not landed:
            move_ref(durable(self._git), self.landed_ref, new=target, old="")
            set_ref(self._git, self._published_ref, target)
            self._note_adoption("", target)
            return target, target, target
        if target and not published:
            # We were killed between the two refs: nothing has been followed to yet.
            set_ref(self._git, self._published_ref, target)
            published = target
        return target, landed, published

    def _is_free(self) -> bool:
        """True when nobody has the branch checked out, or is about to, and it had followed."""
        return (
            self.seen.where is Position.LEVEL
            and self.seen.landed == self.seen.published != ""
            and holder_git(self._repository) is None
            and not hindrance(self._repository, None, old=self.seen.target, new=self.seen.target)
        )

    def _is_ancestor(self, older: str, newer: str) -> bool:
        """True when `newer` contains `older`; that never changes, so it is asked once."""
        if older == newer:
            return True
        if (older, newer) not in self._ancestry:
            self._ancestry[older, newer] = is_ancestor(self._git, older, newer)
        return self._ancestry[older, newer]

    def _put_right(self) -> str:
        cut_off = self._log.state.publishing
        if cut_off is None or cut_off.target != self._repository.target:
            return ""
        reason = put_right(self._repository, old=cut_off.from_commit, new=cut_off.to_commit)
        if not reason:
            self._end(cut_off.to_commit, "a move that was cut off was put right")
            self.look()
        return reason

    def _follow(self) -> str:
        match self.seen.where:
            case Position.LEVEL | Position.AHEAD:
                return ""
            case Position.BEHIND:
                return self._move(self.seen.target, self.seen.landed)
            case Position.BESIDE:
                return (
                    f"{self._repository.target!r} has commits of its own; the queue merges them "
                    f"with what has landed, or you do: git merge {self.landed_ref}"
                )
            case Position.SET_BACK | Position.GONE:
                return self.problem
            case _:
                assert_never(self.seen.where)

    def _move(self, old: str, new: str) -> str:
        holder = holder_git(self._repository)
        reason = hindrance(self._repository, holder, old=old, new=new)
        if reason:
            return reason
        target = self._repository.target
        self._step("intend to publish")
        self._log.note(
            PublishIntended(at=self._log.clock(), target=target, from_commit=old, to_commit=new)
        )
        self._step("publish")
        try:
            reason = self._moved(holder, old, new)
        except RefMoved:
            reason = f"{target!r} moved meanwhile"
        except GitTimedOut as error:
            # What is half done is put right at the next try.
            return str(error)
        self._step("record publishing")
        self._end(new, reason)
        if not reason:
            self.seen = Sight(new, new, new, Position.LEVEL)
        return reason

    def _moved(self, holder: Git | None, old: str, new: str) -> str:
        """Moves branch and our own note of it; returns why it could not, empty when it did."""
        if holder is None:
            moves = (
                (self._repository.target_ref, new, old),
                (self._published_ref, new, self.seen.published),
            )
            move_refs(durable(self._git), moves)
            return ""
        reason = follow(self._repository, holder, old=old, new=new, when=self._log.clock())
        if not reason:
            set_ref(self._git, self._published_ref, new)
        return reason

    def _end(self, to_commit: str, held: str) -> None:
        self._log.note(
            PublishEnded(
                at=self._log.clock(),
                target=self._repository.target,
                to_commit=to_commit,
                held=held,
            )
        )

    def _note_adoption(self, old: str, new: str) -> None:
        self._log.note(
            TargetAdopted(
                at=self._log.clock(),
                target=self._repository.target,
                from_commit=old,
                to_commit=new,
            )
        )

    def _problem(self, where: Position, landed: str, target: str) -> str:
        name = self._repository.target
        if where is Position.GONE:
            return (
                f"The branch {name!r} is gone. Make it again (git branch {name} {landed[:12]}) "
                "or start with another --target."
            )
        if where is Position.SET_BACK:
            return (
                f"The branch {name!r} was set back to {target[:12]}, behind what it had followed "
                f"to. To have the landings back: git reset --keep {landed[:12]} on it. To go on "
                f"without them: git update-ref -d {self.landed_ref}"
            )
        return ""

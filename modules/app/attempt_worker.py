"""The worker of one attempt as the lead knows it: who it is, how it stands, what it is told."""

from dataclasses import dataclass

from msgspec.structs import replace

from modules.agent.brain import Head
from modules.app.attempt_place import AttemptPlace
from modules.app.hand_in import HandIn
from modules.app.house import House
from modules.app.rework_words import handover_words
from modules.app.worker_process import worker_environment
from modules.context.prompts import task_opening, worker_prompt
from modules.records.decisions import Mode
from modules.records.messages import said
from modules.records.protocol import Assigned
from modules.records.settings import Role, tools_of_both
from modules.records.tasks import Claim, Task
from modules.safety.ground import Ground
from modules.safety.hooks import Caller
from modules.safety.permissions import Standing
from modules.team.member import Member
from tools.catalog import LANE_TOOLS

BEATS_PER_LEASE = 6
GO_ON = (
    "The lead was started anew. Your worktree is as you left it; a call that was running was "
    "interrupted, and nothing runs in the background. Go on where you were."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptWorker:
    """Who works on a task, in which role, and where."""

    house: House
    member: Member
    claim: Claim
    task: Task
    place: AttemptPlace
    role_name: str
    role: Role
    """Its tools are those that the role and the teammate both have."""
    caller: Caller
    """The worker as its hooks are told of it."""

    @property
    def model(self) -> str:
        """The SPEC of its model: the teammate's, else the task's, the role's, the settings'."""
        settings = self.house.settings
        chosen = self.member.model or self.task.draft.model or self.role.model
        return chosen or settings.worker_model

    @property
    def needs_plan(self) -> bool:
        """True where a plan has to be accepted before anything is changed."""
        return self.role.plan or self.task.draft.plan

    def standing(self, hand_in: HandIn) -> Standing:
        """Returns how the worker stands now."""
        house, place = self.house, self.place
        return Standing(
            agent=self.member.name,
            role=self.role_name,
            is_worker=True,
            is_jailed=house.sandbox.is_jail,
            mode=Mode.PLAN if hand_in.needs_plan else _mode(self.member, place),
            rules=self.role.rules,
            ground=Ground(
                root=place.lane.path,
                main_checkout=house.paths.root,
                home=house.environment.home,
                user_folder=house.environment.user_folder,
                tmp=place.temporary,
                is_worker=True,
                allowed_hosts=house.settings.web_allow,
            ),
        )

    def head(self, model: str) -> Head:
        """Returns what each request of the worker to `model` begins with."""
        house, lane, task = self.house, self.place.lane, self.task
        checks = [check for check in (house.settings.check, task.draft.check) if check]
        return Head(
            agent=self.member.name,
            task=task.draft.subject,
            model=model,
            system=worker_prompt(
                name=self.member.name,
                role=self.role_name,
                role_prompt=self.role.prompt,
                lane=str(lane.path),
                branch=lane.branch,
                base=lane.base,
                check=" and then ".join(checks),
                landed_ref=house.queue.landed_ref,
                needs_plan=self.needs_plan,
            ),
        )

    def assigned(self) -> Assigned:
        """Returns what the worker's process is told when it says hello."""
        house, place, allowed = self.house, self.place, self.role.tools
        return Assigned(
            worker=self.member.name,
            lane=str(place.lane.path),
            temporary=str(place.temporary),
            environment={
                **worker_environment(house, place.temporary),
                **house.preparation.variables(place.lane.path),
            },
            tools=tuple(
                tool.name for tool in LANE_TOOLS if allowed is None or tool.name in allowed
            ),
            opening=said(self._opening()),
            beat_seconds=house.settings.lease_seconds / BEATS_PER_LEASE,
        )

    def _opening(self) -> str:
        """Returns the first words to a worker: its task, and what came of earlier attempts."""
        if self.place.session.messages:
            return GO_ON
        told = [self.task.reason]
        if self.place.handover is not None:
            landed_ref, root = self.house.queue.landed_ref, self.house.paths.root
            told.append(handover_words(self.place.handover, landed_ref=landed_ref, root=root))
        return task_opening(self.task, previous="\n".join(filter(None, told)))


def make_attempt_worker(
    house: House, member: Member, claim: Claim, task: Task, place: AttemptPlace
) -> AttemptWorker:
    """Returns the worker of an attempt, in the teammate's role or else in the task's."""
    role_name = member.role or task.draft.role
    role = house.settings.roles.get(role_name, Role())
    session_id = place.session.session_id
    return AttemptWorker(
        house=house,
        member=member,
        claim=claim,
        task=task,
        place=place,
        role_name=role_name,
        role=replace(role, tools=tools_of_both(role.tools, member.tools)),
        caller=Caller(
            session_id=session_id,
            transcript=house.paths.sessions / f"{session_id}.jsonl",
            folder=place.lane.path,
            mode=_mode(member, place),
            agent=member.name,
            role=role_name,
        ),
    )


def _mode(member: Member, place: AttemptPlace) -> Mode:
    """Returns how much a worker may do unasked now; never more than the lead."""
    lead = place.lead_mode()
    return lead if member.mode is None else member.mode.at_most(lead)

"""PRM-04: a worker is under the lead's rules and its role's; only what both allow is allowed."""

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from modules.records.decisions import Behavior, Mode, PathSubject, ShellSubject, Subject
from modules.records.settings import Rules, RuleText
from modules.safety.permissions import PermissionManager, Standing
from modules.safety.rules_in_force import RuleInForce, rules_in_force
from tests.safety.grounds import worker_ground

WORKER = Standing(
    agent="w1", role="qa", is_worker=True, is_jailed=True, mode=Mode.AUTO, ground=worker_ground()
)
TEXTS = (
    *("Bash(git *)", "Bash(pytest *)", "Bash(make)", "Bash(curl *)", "Bash", "bash:run"),
    *("Edit(/secrets/**)", "Write(/src/**)", "Read(*.key)", "WebFetch(domain:example.com)"),
)
CALLS: tuple[tuple[str, Subject], ...] = (
    *(
        ("bash", ShellSubject(command=command))
        for command in ("git push", "pytest -q", "make", "curl http://example.com", "ls", "rm -r x")
    ),
    *(("write_file", PathSubject(path=path, op="write")) for path in ("secrets/a", "src/a.py")),
)


def rules_from(source: str) -> st.SearchStrategy[Rules]:
    texts = st.lists(
        st.sampled_from(TEXTS).map(lambda text: RuleText(text=text, source=source)), max_size=4
    ).map(tuple)
    return st.builds(Rules, allow=texts, ask=texts, deny=texts)


@settings(deadline=None, max_examples=60)
@given(
    lead=rules_from("team.toml"), role=rules_from("role qa"), granted=st.sets(st.just("Bash(make)"))
)
def test_worker_is_denied_what_either_denies_and_allowed_only_what_the_lead_is(
    lead: Rules, role: Rules, granted: set[str]
) -> None:
    manager = PermissionManager(lead, mode=Mode.AUTO)
    for rule in granted:
        manager.remember(rule)
    of_role = replace(WORKER, rules=role)

    listed = rules_in_force(manager, of_role)

    denied = {(rule.rule, rule.source) for rule in listed if rule.effect == "deny"}
    assert denied == {(rule.text, rule.source) for rule in lead.deny + role.deny}
    for tool, subject in CALLS:
        without_role = manager.decide(WORKER, tool, {}, subject).behavior
        decided = manager.decide(of_role, tool, {}, subject).behavior
        assert list(Behavior).index(decided) >= list(Behavior).index(without_role)
        alone = PermissionManager(Rules(deny=role.deny), mode=Mode.AUTO)
        if alone.decide(WORKER, tool, {}, subject).behavior is Behavior.DENY:
            assert decided is Behavior.DENY


def test_rules_are_listed_with_their_sources_in_the_order_they_are_looked_at() -> None:
    def rule(text: str, source: str) -> tuple[RuleText, ...]:
        return (RuleText(text=text, source=source),)

    lead = Rules(
        allow=rule("Bash(pytest *)", "settings.toml"), deny=rule("Write(secrets/**)", "team.toml")
    )
    role = Rules(allow=rule("Bash(pytest *)", "role qa"), deny=rule("Bash(*)", "role qa"))
    manager = PermissionManager(lead, mode=Mode.AUTO)
    manager.remember("Bash(make)")

    listed = rules_in_force(manager, replace(WORKER, rules=role))

    assert listed == [
        RuleInForce(effect="deny", rule="Write(secrets/**)", source="team.toml"),
        RuleInForce(effect="deny", rule="Bash(*)", source="role qa"),
        RuleInForce(effect="allow", rule="Bash(make)", source="session"),
        RuleInForce(effect="allow", rule="Bash(pytest *)", source="settings.toml"),
        RuleInForce(effect="only", rule="Bash(pytest *)", source="role qa"),
    ]


def test_path_rule_holds_for_the_same_path_in_a_worktree() -> None:
    denied = Rules(deny=(RuleText(text="Write(secrets/**)", source="team.toml"),))
    manager = PermissionManager(denied, mode=Mode.YOLO)

    def decided(path: str) -> Behavior:
        subject = PathSubject(path=path, op="write")
        return manager.decide(WORKER, "write_file", {}, subject).behavior

    root = WORKER.ground.root
    assert [decided("secrets/a"), decided(f"{root}/secrets/a"), decided("src/a")] == [
        Behavior.DENY,
        Behavior.DENY,
        Behavior.ALLOW,
    ]

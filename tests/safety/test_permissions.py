"""Tests of modules/safety/permissions.py: the order of a decision, and cases from the field."""

import pytest
from msgspec.structs import replace

from modules.records.decisions import (
    Behavior,
    Decision,
    Mode,
    PathOp,
    PathSubject,
    Risk,
    ShellSubject,
    ToolSubject,
    UrlSubject,
)
from modules.records.errors import PersonFault
from modules.records.settings import Rules, RuleText
from modules.safety.permissions import (
    PermissionManager,
    Standing,
    decide,
    is_of_use,
    with_hook,
)
from tests.safety.grounds import lead_ground, worker_ground

ALLOW, ASK, DENY = Behavior
NO_RULES = Rules()
WORKER = Standing(agent="w1", is_worker=True, mode=Mode.DEFAULT, ground=worker_ground())
LEAD = Standing(agent="lead", mode=Mode.DEFAULT, ground=lead_ground())


def rules(
    allow: tuple[str, ...] = (), ask: tuple[str, ...] = (), deny: tuple[str, ...] = ()
) -> Rules:
    def texts(given: tuple[str, ...]) -> tuple[RuleText, ...]:
        return tuple(RuleText(text=text, source="settings") for text in given)

    return Rules(allow=texts(allow), ask=texts(ask), deny=texts(deny))


def bash(command: str, given: Rules = NO_RULES, standing: Standing = WORKER) -> Decision:
    return decide(standing, "bash", {"command": command}, ShellSubject(command=command), given)


def file(path: str, op: PathOp, given: Rules = NO_RULES, standing: Standing = WORKER) -> Decision:
    tool = {"read": "read_file", "write": "write_file", "edit": "edit_file"}.get(op, "delete_file")
    return decide(standing, tool, {"path": path}, PathSubject(path=path, op=op), given)


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        (Mode.PLAN, [ALLOW, DENY, DENY, DENY, DENY]),
        (Mode.DEFAULT, [ALLOW, ASK, ASK, ASK, DENY]),
        (Mode.AUTO, [ALLOW, ASK, ASK, ASK, DENY]),
        (Mode.ACCEPT_EDITS, [ALLOW, ALLOW, ASK, ASK, DENY]),
        (Mode.YOLO, [ALLOW, ALLOW, ALLOW, ASK, DENY]),
    ],
)
def test_decide_when_no_rule_speaks_then_the_mode_does(
    mode: Mode, expected: list[Behavior]
) -> None:
    standing = replace(WORKER, mode=mode)

    commands = ("ls", "touch a", "make", "sudo ls", "cat .env")

    assert [bash(command, standing=standing).behavior for command in commands] == expected


@pytest.mark.parametrize("mode", [Mode.AUTO, Mode.ACCEPT_EDITS])
def test_decide_when_a_jail_contains_a_command_then_a_worker_runs_it_unasked(mode: Mode) -> None:
    jailed = replace(WORKER, is_jailed=True, mode=mode)

    contained = ("touch a", "make", "rm -rf build", "git rebase main", "A=1 pytest", "kill 12")
    others = ("curl x.org", "pip install x", "git push", "sudo ls", "echo `x`", "touch .mcp.json")

    assert {bash(command, standing=jailed).behavior for command in contained} == {ALLOW}
    assert {bash(command, standing=jailed).behavior for command in others} == {ASK}
    assert file("a.py", "write", standing=jailed).behavior is ALLOW
    assert file("a.py", "delete", standing=jailed).behavior is ALLOW
    assert file("CLAUDE.md", "write", standing=jailed).behavior is ASK


@pytest.mark.parametrize(
    "standing",
    [
        replace(WORKER, is_jailed=True, mode=Mode.DEFAULT),
        replace(WORKER, is_jailed=False, mode=Mode.AUTO),
        replace(LEAD, is_jailed=True, mode=Mode.AUTO),
    ],
)
def test_decide_when_no_jail_or_mode_stands_for_it_then_a_command_is_asked_about(
    standing: Standing,
) -> None:
    assert bash("make", standing=standing).behavior is ASK


def test_decide_when_a_jailed_worker_calls_a_dangerous_tool_then_it_is_asked_about() -> None:
    jailed = replace(WORKER, is_jailed=True, mode=Mode.AUTO)

    decision = decide(jailed, "mcp__db__drop", {}, ToolSubject(risk=Risk.DANGEROUS), Rules())

    assert decision.behavior is ASK


def test_decide_when_rules_clash_then_deny_beats_ask_beats_allow() -> None:
    every = ("Bash(make:*)",)

    assert bash("make x", rules(allow=every)).behavior is ALLOW
    assert bash("make x", rules(allow=every, ask=every)).behavior is ASK
    assert bash("make x", rules(allow=every, ask=every, deny=every)).behavior is DENY


def test_decide_when_a_rule_asks_then_no_mode_lifts_the_question() -> None:
    yolo = replace(WORKER, mode=Mode.YOLO)

    decision = bash("ls", rules(ask=("Bash(ls:*)",)), standing=yolo)

    assert (decision.behavior, decision.must_ask, decision.rule) == (ASK, True, "Bash(ls:*)")


def test_decide_when_a_call_is_critical_then_no_rule_allows_it() -> None:
    given = rules(allow=("Bash", "Bash(sudo:*)", "bash:system", "Edit", "Edit(/CLAUDE.md)"))

    assert bash("sudo ls", given).behavior is ASK
    assert file("CLAUDE.md", "write", given).behavior is ASK


def test_decide_when_a_guard_denies_then_the_reason_can_be_acted_on() -> None:
    decision = file("/repo/src/app.py", "write", rules(allow=("Edit",)))

    assert decision == Decision(
        behavior=DENY,
        risk=Risk.DENY,
        categories=("file:outside",),
        source="guard",
        why="'/repo/src/app.py' lies in the main checkout; change 'src/app.py' in your own lane",
    )


def test_decide_when_a_rule_decides_then_it_is_named() -> None:
    decision = bash("make all", rules(allow=("Bash(make *)",)))

    assert decision == Decision(
        behavior=ALLOW,
        risk=Risk.DANGEROUS,
        categories=("bash:run",),
        rule="Bash(make *)",
        source="settings",
        why="the rule Bash(make *) allows it",
    )


GIT_ONLY = rules(allow=("bash(git *)",), deny=("bash(rm *)",))


@pytest.mark.parametrize(
    ("command", "behavior"),
    [
        ("git add . && git commit -m x", ALLOW),
        ("git log '&& touch no'", ALLOW),
        ("git add . | head", ALLOW),
        ("git status && touch P1", ASK),
        ("git log | tee P2", ASK),
        ("git log & touch P3", ASK),
        ("git log > P4", ASK),
        ("git log; rm -rf d", DENY),
        ("git log\nrm -rf d", DENY),
        ("cd x && rm -rf d", DENY),
    ],
)
def test_decide_when_commands_are_chained_then_each_is_judged(
    command: str, behavior: Behavior
) -> None:
    """MoonshotAI/kimi-code#2756, anthropics/claude-code#94314."""
    assert bash(command, GIT_ONLY).behavior is behavior


@pytest.mark.parametrize(
    ("command", "behavior"),
    [
        ("git status $(touch P1)", ASK),
        ("git status `rm -rf d`", DENY),
        ("(rm -rf d)", DENY),
        ("{ rm -rf d; }", DENY),
        ("DEBUG=1 rm -rf d", DENY),
        ("ANY=1 OTHER=2 rm -rf d", DENY),
        ("bash -c 'rm -rf d'", DENY),
        ("bash -c 'bash -c \"rm -rf d\"'", DENY),
        ("echo hi | xargs rm", DENY),
        ("find . -exec rm {} \\;", DENY),
        ("timeout 9 nice /bin/rm d", DENY),
        ("eval 'rm d'", DENY),
        ("echo 'rm d' | sh", DENY),
        ("sh <<'E'\nrm d\nE", DENY),
        ("r\\m d", DENY),
        ("git -c core.pager='touch P2' log", ASK),
        ("cat <<EOF\n$(touch P3)\nEOF", ASK),
        ("cat <<EOF\n$(rm d)\nEOF", DENY),
        ('git status "', ASK),
        ('rm d "', DENY),
        ("echo 'rm d'", ALLOW),
        ("git commit -m 'rm d'", ALLOW),
    ],
)
def test_decide_when_a_command_is_inside_another_then_it_is_judged_too(
    command: str, behavior: Behavior
) -> None:
    """gotgenes/pi-packages#306, esengine/DeepSeek-Reasonix#6968."""
    assert bash(command, GIT_ONLY).behavior is behavior


@pytest.mark.parametrize(
    "command",
    [
        "echo x > secrets/key.txt",
        "tee secrets/key.txt < a",
        "cp a secrets/",
        "mv secrets old",
        "rm -r secrets",
        "sed -i s/a/b/ secrets/*.txt",
        "cd src && touch ../secrets/x",
    ],
)
def test_decide_when_a_rule_protects_files_then_commands_are_held_to_it(command: str) -> None:
    """anthropics/claude-code#83421: a denied path holds in the lane, and for the shell too."""
    given = rules(allow=("Bash",), deny=("write(secrets/**)",))

    assert bash("touch other", given).behavior is ALLOW
    assert bash(command, given).behavior is DENY
    assert file("secrets/x", "write", given).behavior is DENY
    assert file("/repo/.worktrees/w1/secrets/x", "edit", given).behavior is DENY


def test_decide_when_a_role_adds_rules_then_both_sides_count() -> None:
    """anomalyco/opencode#12566, anomalyco/opencode#45078."""
    manager = PermissionManager(
        rules(allow=("bash(pytest *)", "bash(make:*)"), deny=("write(secrets/**)",)),
        mode=Mode.DEFAULT,
    )
    tester = replace(WORKER, role="tester", rules=rules(allow=("bash(pytest *)",)))
    reader = replace(WORKER, role="reader", rules=rules(deny=("bash(*)",)))

    def behavior(standing: Standing, command: str) -> Behavior:
        return manager.decide(standing, "bash", {}, ShellSubject(command=command)).behavior

    assert [behavior(WORKER, c) for c in ("pytest -q", "make x")] == [ALLOW, ALLOW]
    assert [behavior(tester, c) for c in ("pytest -q", "make x")] == [ALLOW, ASK]
    assert [behavior(reader, c) for c in ("pytest -q", "ls", "> x")] == [DENY, DENY, DENY]
    assert manager.effective_rules(reader) == Rules(
        allow=(
            RuleText(text="bash(pytest *)", source="settings"),
            RuleText(text="bash(make:*)", source="settings"),
        ),
        deny=(
            RuleText(text="write(secrets/**)", source="settings"),
            RuleText(text="bash(*)", source="settings"),
        ),
    )


def test_decide_when_categories_are_granted_then_all_of_a_part_must_be() -> None:
    run = rules(allow=("bash:run",))
    both = rules(allow=("bash:run", "bash:rm"))

    assert bash("make x", run).behavior is ALLOW
    assert bash("rm x", run).behavior is ASK
    assert bash("make x && rm y", run).behavior is ASK
    assert bash("make x && rm y", both).behavior is ALLOW
    assert bash("echo `make`", both).behavior is ASK
    assert bash("curl x.org", rules(deny=("bash:net",))).behavior is DENY


@pytest.mark.parametrize(
    ("allow", "command"),
    [
        ("Bash(find *)", "find . -name x -delete"),
        ("Bash(find *)", "find . -exec touch {} +"),
        ("Bash(git *)", "git -c core.fsmonitor=x status"),
        ("Bash(git *)", "git grep -Oless x"),
        ("Bash(sed *)", "sed '1e id' x"),
        ("Bash(tar *)", "tar -cf /dev/null x --checkpoint=1 --checkpoint-action=exec=id"),
        ("Bash(bash *)", "bash -c 'make'"),
        ("Bash(xargs *)", "ls | xargs make"),
        ("Bash(env *)", "env make"),
        ("Bash(make *)", "PATH=. make x"),
        ("Bash(ls *)", "echo x > out"),
        ("Bash", "echo `make`"),
    ],
)
def test_decide_when_a_rule_is_for_the_program_then_hidden_work_is_not_covered(
    allow: str, command: str
) -> None:
    assert bash(command, rules(allow=(allow,))).behavior is ASK


def test_decide_when_a_redirect_needs_an_edit_rule_then_that_one_covers_it() -> None:
    assert bash("make > out/log", rules(allow=("Bash(make)",))).behavior is ASK
    assert bash("make > out/log", rules(allow=("Bash(make)", "Edit(out/**)"))).behavior is ALLOW
    assert bash("make > log", rules(allow=("Bash(make)", "Edit(out/**)"))).behavior is ASK


def test_decide_when_other_tools_have_rules_then_they_hold() -> None:
    given = rules(
        allow=("WebFetch(domain:example.org)", "mcp__db", "Agent(ann)"),
        deny=("WebFetch(domain:*.bad.org)", "mcp__db__drop", "board_post_task(claim_role:admin)"),
    )
    tool = ToolSubject(risk=Risk.DANGEROUS)

    def fetch(url: str) -> Behavior:
        return decide(WORKER, "web_fetch", {"url": url}, UrlSubject(url=url), given).behavior

    assert [fetch("https://a.bad.org/"), fetch("https://example.org/")] == [DENY, ALLOW]
    assert decide(WORKER, "mcp__db__query", {}, tool, given).behavior is ALLOW
    assert decide(WORKER, "mcp__db__drop", {}, tool, given).behavior is DENY
    assert decide(WORKER, "mcp__other__x", {}, tool, given).behavior is ASK
    assert decide(LEAD, "spawn_teammate", {"name": "ann"}, tool, given).behavior is ALLOW
    assert decide(LEAD, "spawn_teammate", {"name": "bob"}, tool, given).behavior is ASK
    post = {"claim_role": "admin", "subject": "x"}
    assert decide(LEAD, "board_post_task", post, ToolSubject(risk=Risk.SAFE), given).rule


def test_decide_when_a_sub_agent_is_asked_for_then_rules_know_it_by_its_kind() -> None:
    def asked_for(given: dict[str, str], denied: str) -> Behavior:
        safe = ToolSubject(risk=Risk.SAFE)
        return decide(WORKER, "subagent", given, safe, rules(deny=(denied,))).behavior

    general = {"prompt": "x", "kind": "general"}
    assert [asked_for(general, f"Agent({kind})") for kind in ("general", "explore")] == [
        DENY,
        ALLOW,
    ]
    assert [asked_for({"prompt": "x"}, rule) for rule in ("Agent(explore)", "Agent")] == [
        DENY,
        DENY,
    ]


def test_decide_when_a_folder_is_listed_then_it_is_no_file_to_refuse() -> None:
    root = PathSubject(path=".", op="read")

    assert decide(WORKER, "list_dir", {}, root, Rules()).behavior is ALLOW
    assert (
        decide(WORKER, "grep", {}, PathSubject(path="~/.ssh", op="read"), Rules()).behavior is DENY
    )


def test_with_hook_when_hooks_speak_then_they_never_beat_a_floor() -> None:
    plain = bash("make")
    floor = bash("sudo ls")
    denied = bash("cat .env")
    allowed = bash("ls")

    assert with_hook(plain, "allow", "fine").behavior is ALLOW
    assert with_hook(floor, "allow", "fine") == floor
    assert with_hook(denied, "allow", "fine") == denied
    assert with_hook(allowed, "ask", "look").behavior is ASK
    assert with_hook(allowed, "deny", "no") == Decision(
        behavior=DENY, risk=Risk.SAFE, source="hook", why="no"
    )
    assert with_hook(plain, "", "") == plain


def test_manager_when_the_lead_lowers_its_mode_then_every_agent_is_held_to_it() -> None:
    manager = PermissionManager(Rules(), mode=Mode.YOLO)
    worker = replace(WORKER, mode=Mode.YOLO)
    make = ShellSubject(command="make")
    before = manager.decide(worker, "bash", {}, make).behavior

    manager.set_mode(Mode.PLAN)

    assert (before, manager.decide(worker, "bash", {}, make).behavior) == (ALLOW, DENY)
    assert manager.mode is Mode.PLAN


def test_worker_at_work_keeps_the_mode_it_began_in_when_the_lead_raises_its_own() -> None:
    manager = PermissionManager(Rules(), mode=Mode.AUTO)
    at_work = manager.mode_from_now()

    manager.set_mode(Mode.YOLO)
    later = manager.mode_from_now()

    assert (manager.mode, at_work(), later()) == (Mode.YOLO, Mode.AUTO, Mode.YOLO)


def test_worker_at_work_follows_the_lead_down_and_back_to_what_it_began_in() -> None:
    manager = PermissionManager(Rules(), mode=Mode.AUTO)
    at_work = manager.mode_from_now()

    manager.set_mode(Mode.PLAN)
    lowered = at_work()
    manager.set_mode(Mode.YOLO)

    assert (lowered, at_work()) == (Mode.PLAN, Mode.AUTO)


def test_worker_at_work_is_raised_where_the_person_raises_all() -> None:
    manager = PermissionManager(Rules(), mode=Mode.DEFAULT)
    at_work = manager.mode_from_now()

    manager.set_mode(Mode.YOLO, for_all=True)
    raised, later = at_work(), manager.mode_from_now()
    manager.set_mode(Mode.AUTO)

    assert (raised, at_work(), later()) == (Mode.YOLO, Mode.AUTO, Mode.AUTO)


def test_tool_that_always_changes_something_is_of_no_use_in_plan_mode_alone() -> None:
    useless = [(risk, mode) for risk in Risk for mode in Mode if not is_of_use(risk, mode)]

    assert useless == [(risk, Mode.PLAN) for risk in Risk if risk is not Risk.SAFE]


def test_manager_when_the_leads_mode_is_higher_then_the_agents_own_counts() -> None:
    manager = PermissionManager(Rules(), mode=Mode.YOLO)

    decision = manager.decide(WORKER, "bash", {}, ShellSubject(command="make"))

    assert decision.behavior is ASK


def test_manager_when_an_answer_is_kept_then_it_holds_and_is_handed_on() -> None:
    stored: list[str] = []
    manager = PermissionManager(Rules(), mode=Mode.DEFAULT, store=stored.append)
    subject = ShellSubject(command="make all")
    asked = manager.decide(WORKER, "bash", {}, subject)
    offered = manager.offer(WORKER, "bash", subject, asked)

    manager.remember(offered)

    decision = manager.decide(LEAD, "bash", {}, ShellSubject(command="make all -j4"))
    assert stored == ["Bash(make all:*)"]
    assert (decision.behavior, decision.rule, decision.source) == (ALLOW, offered, "session")


def test_manager_when_an_answer_cannot_be_kept_then_no_rule_is_offered() -> None:
    manager = PermissionManager(rules(ask=("Bash(make:*)",)), mode=Mode.DEFAULT)

    offered = []
    for command in ("sudo ls", "echo `x`", "make", "ls", "cat .env"):
        subject = ShellSubject(command=command)
        decision = manager.decide(WORKER, "bash", {}, subject)
        offered.append(manager.offer(WORKER, "bash", subject, decision))

    assert offered == ["", "", "", "", ""]


def test_manager_when_a_kept_rule_is_malformed_then_nothing_is_kept() -> None:
    stored: list[str] = []
    manager = PermissionManager(Rules(), mode=Mode.DEFAULT, store=stored.append)

    with pytest.raises(PersonFault):
        manager.remember("Bash(")

    assert stored == []


@pytest.mark.parametrize("mode", list(Mode))
@pytest.mark.parametrize("command", ["ls", "pip install x", "make", "sudo ls", "cat .env"])
def test_decide_when_a_command_asks_for_the_network_then_a_person_must_see_it(
    command: str, mode: Mode
) -> None:
    standing = replace(WORKER, mode=mode, is_jailed=True)
    given = rules(allow=("Bash", "bash:escalated", "bash:run", "bash:pkg"))
    manager = PermissionManager(given, mode=mode)
    subject = ShellSubject(command=command, reason="to get a package")

    decision = manager.decide(standing, "bash_with_network", {"command": command}, subject)

    is_denied = command == "cat .env" or mode is Mode.PLAN
    assert (decision.behavior, decision.risk.rank > 1) == (DENY if is_denied else ASK, True)
    assert with_hook(decision, "allow", "fine") == decision
    assert manager.offer(standing, "bash_with_network", subject, decision) == ""


def test_decide_when_a_rule_denies_a_command_then_it_does_with_the_network_too() -> None:
    subject = ShellSubject(command="curl x.org", reason="to look")

    for text in ("Bash(curl *)", "Bash", "bash_with_network"):
        given = rules(deny=(text,))
        assert decide(WORKER, "bash_with_network", {}, subject, given).behavior is DENY

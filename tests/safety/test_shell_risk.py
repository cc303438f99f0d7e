"""Tests of modules/safety/shell_risk.py: a table of command lines, and what may be put around."""

from pathlib import Path

import pytest
import yaml
from msgspec.structs import replace

from modules.records.decisions import Risk
from modules.safety.shell_risk import assess_shell, read_shell
from tests.safety.grounds import ground_on_disk, lead_ground, worker_ground

TABLE: dict[str, dict[str, list[str]]] = yaml.safe_load(
    Path(__file__).with_name("shell_cases.yaml").read_text(encoding="utf-8")
)
CASES = [
    pytest.param(command, Risk(risk), id=f"{risk}: {command[:60]!r}")
    for risk, groups in TABLE.items()
    for commands in groups.values()
    for command in commands
]
CONTAINED = {"bash:run", "bash:write", "bash:rm", "bash:env", "bash:git-history", "bash:kill"}
"""What a sandbox contains, so that a worker in one is not asked about it."""

AROUND = {
    "after ;": "ls; {}",
    "after &&": "ls && {}",
    "after ||": "ls || {}",
    "after &": "ls & {}",
    "after a newline": "ls\n{}",
    "before ;": "{}; ls",
    "before a pipe": "{} | cat",
    "after a pipe": "ls | {}",
    "in the background": "{} &",
    "negated": "! {}",
    "timed": "time {}",
    "in a group": "{{ {}; }}",
    "in a subshell": "( {} )",
    "in a substitution": "echo $({})",
    "in a quoted substitution": 'echo "x $({}) y"',
    "in backticks": "echo `{}`",
    "in a process substitution": "cat <({})",
    "in an output substitution": "ls > >({})",
    "in a default": "echo ${{x:-$({})}}",
    "in an assignment": "x=$({})",
    "in an array": "x=(1 $({}))",
    "in arithmetic": "echo $((1 + $({})))",
    "in a condition": "if {}; then ls; fi",
    "in a branch": "if ls; then {}; fi",
    "in another branch": "if ls; then ls; elif ls; then ls; else {}; fi",
    "in a for loop": "for i in 1 2; do {}; done",
    "in the words of a loop": "for i in $({}); do ls; done",
    "in a while loop": "while {}; do ls; done",
    "in an until loop": "until {}; do ls; done",
    "in a case": "case x in x) {};; esac",
    "in a test": "[[ -n $({}) ]]",
    "in a function": "f() {{ {}; }}; f",
    "in a here-document": "cat <<E\n$({})\nE",
    "in a here-document's backticks": "cat <<E\n`{}`\nE",
    "in a here-string": 'cat <<< "$({})"',
    "after a here-document": "cat <<'E'\nx\nE\n{}",
    "beside a here-document": "cat <<'E' && {}\nx\nE",
    "after a comment": "# don't\n{}",
    "after a quote in a word": "echo a'b'\\''c'; {}",
    "after an escaped quote": 'echo \\"; {} #"',
    "with output thrown away": "{} > /dev/null 2>&1",
    "under timeout": "timeout 5 {}",
    "under nice": "nice -n 5 {}",
    "under nohup": "nohup {}",
    "under command": "command {}",
    "under env": "env A=1 {}",
    "under setsid": "setsid {}",
    "after a variable": "LANG=C {}",
    "in bash -c": "bash -c '{}'",
    "in eval": "eval '{}'",
    "in a trap": "trap '{}' EXIT",
    "by xargs": "ls | xargs {}",
    "by find": "find . -exec {} \\;",
    "by find for many": "find . -exec {} {{}} +",
    "printed to a shell": "echo '{}' | sh",
    "given to a shell": "bash <<'E'\n{}\nE",
    "behind an odd character": "ls \u200b; {}",
    "before an open quote": '{}; echo "',
    "as the sixtieth": ":; " * 60 + "{}",
}


@pytest.mark.parametrize(("command", "risk"), CASES)
def test_assess_shell_when_a_command_is_of_the_table_then_its_risk_is_that(
    command: str, risk: Risk
) -> None:
    found = assess_shell(command, worker_ground())

    assert (found.risk, found.why) == (risk, found.why)


@pytest.mark.parametrize("command", ["pytest -q tests", "npm run lint", "make all", "./run.sh a"])
def test_assess_shell_when_a_command_only_runs_code_then_a_sandbox_contains_it(
    command: str,
) -> None:
    found = assess_shell(command, worker_ground())

    assert (found.categories, found.must_ask) == (("bash:run",), False)


@pytest.mark.parametrize("around", AROUND.values(), ids=AROUND)
@pytest.mark.parametrize(
    ("command", "risk"),
    [
        ("python x.py", Risk.DANGEROUS),
        ("rm -rf build", Risk.DANGEROUS),
        ("sudo true", Risk.CRITICAL),
        ("rm -rf ~", Risk.CRITICAL),
        ("cat .env", Risk.DENY),
        ("touch ../w2/x", Risk.DENY),
    ],
)
def test_assess_shell_when_something_stands_around_a_command_then_the_risk_is_no_lower(
    command: str, risk: Risk, around: str
) -> None:
    found = assess_shell(around.format(command), worker_ground())

    assert found.risk.rank >= risk.rank


@pytest.mark.parametrize(
    "name",
    [
        "p\\ython",
        "py''thon",
        '"python"',
        "'python'",
        "$'python'",
        "pyth?n",
        "{python,x}",
        "$P",
        "`x`",
    ],
)
def test_assess_shell_when_a_name_is_hidden_then_a_person_is_asked(name: str) -> None:
    found = assess_shell(f"{name} x.py", worker_ground())

    assert found.must_ask
    assert "bash:unparsed" in found.categories


@pytest.mark.parametrize(
    "command",
    [
        "",
        "   ",
        "# nothing",
        "ls '",
        "ls )",
        "ls \x07",
        "ls \u202e x",
        "ls\u00a0x",
        "ls" + " " * 60 + "; true",
        "echo " + "x" * 10_001,
        "cat <<E\n$(x)\nE",
        "echo `x`",
        ";".join([":"] * 51),
    ],
)
def test_assess_shell_when_a_line_is_not_understood_then_a_person_is_asked(command: str) -> None:
    found = assess_shell(command, worker_ground())

    assert (found.risk, found.must_ask) == (Risk.DANGEROUS, True)
    assert "bash:unparsed" in found.categories


def test_read_shell_when_wrappers_stand_around_a_command_then_each_form_is_known() -> None:
    reading = read_shell("A=1 timeout 5 env B=2 /bin/rm -f x", worker_ground())

    forms = reading.units[0].forms
    assert "A=1 timeout 5 env B=2 /bin/rm -f x" in forms
    assert "env B=2 /bin/rm -f x" in forms
    assert "rm -f x" in forms


def test_read_shell_when_a_script_is_written_out_then_its_commands_are_units() -> None:
    reading = read_shell("bash -c 'touch a; rm b'", worker_ground())

    assert [unit.forms[0] for unit in reading.units] == [
        "bash -c 'touch a; rm b'",
        "touch a",
        "rm b",
    ]


def test_read_shell_when_a_loop_runs_over_known_names_then_each_is_judged() -> None:
    written = assess_shell('for f in a b; do touch "$f.txt"; done', worker_ground())
    outside = assess_shell('for f in a /etc/b; do touch "$f"; done', worker_ground())

    assert written.risk is Risk.WRITE
    assert outside.risk is Risk.DENY


def test_read_shell_when_a_name_may_change_in_a_loop_then_its_value_is_not_certain() -> None:
    found = assess_shell("X=a; while read -r l; do touch $X; X=/etc/b; done", worker_ground())

    assert found.risk is not Risk.WRITE


def test_assess_shell_when_a_link_leads_outside_then_writing_through_it_is_denied(
    tmp_path: Path,
) -> None:
    ground = ground_on_disk(tmp_path)
    before = assess_shell("echo x > linked/app.py", ground)

    (ground.root / "linked").symlink_to(ground.main_checkout / "src")

    after = assess_shell("echo x > linked/app.py", ground)
    assert (before.risk, after.risk) == (Risk.WRITE, Risk.DENY)


def test_assess_shell_when_a_link_leads_to_secrets_then_reading_through_it_is_denied(
    tmp_path: Path,
) -> None:
    ground = ground_on_disk(tmp_path)
    before = assess_shell("cat notes/config", ground)

    (ground.root / "notes").symlink_to(ground.home / ".ssh")

    after = assess_shell("cat notes/config", ground)
    assert (before.risk, after.risk) == (Risk.SAFE, Risk.DENY)


def test_assess_shell_when_a_pattern_hits_a_steering_file_then_a_person_is_asked(
    tmp_path: Path,
) -> None:
    ground = ground_on_disk(tmp_path)
    before = assess_shell("sed -i s/a/b/ ./*.md", ground)

    (ground.root / "CLAUDE.md").write_text("x")

    after = assess_shell("sed -i s/a/b/ ./*.md", ground)
    assert (before.risk, after.risk) == (Risk.WRITE, Risk.CRITICAL)


def test_assess_shell_when_a_copy_goes_into_a_folder_then_the_name_below_it_counts(
    tmp_path: Path,
) -> None:
    ground = ground_on_disk(tmp_path)

    plain = assess_shell("cp ../../src/app.py src", ground)
    steering = assess_shell("cp /usr/share/x/.mcp.json .", ground)

    assert (plain.risk, steering.risk) == (Risk.WRITE, Risk.CRITICAL)


def test_assess_shell_when_the_lead_writes_in_a_lane_then_it_is_denied() -> None:
    own = assess_shell("touch src/x.py", lead_ground())
    lane = assess_shell("touch .worktrees/w1/x.py", lead_ground())

    assert (own.risk, lane.risk) == (Risk.WRITE, Risk.DENY)


def test_assess_shell_when_it_changes_into_its_own_folder_then_git_stays_safe() -> None:
    own = assess_shell("cd /repo/.worktrees/w1 && git status", worker_ground())
    other = assess_shell("cd vendor && git status", worker_ground())

    assert (own.risk, other.risk) == (Risk.SAFE, Risk.DANGEROUS)


def test_assess_shell_when_cd_may_fail_then_both_folders_count() -> None:
    sure = assess_shell("cd build && rm -rf *", worker_ground())
    unsure = assess_shell("cd build; rm -rf *", worker_ground())
    given_up = assess_shell("cd build || exit 1; rm -rf *", worker_ground())

    assert (sure.risk, unsure.risk) == (Risk.DANGEROUS, Risk.CRITICAL)
    assert given_up.risk is Risk.DANGEROUS


@pytest.mark.parametrize("place", ["/root/code", "/opt", "/srv/www", "/var/lib/ci", "/workspace"])
@pytest.mark.parametrize(
    ("command", "risk"),
    [
        ("chmod +x scripts/run.sh", Risk.WRITE),
        ("chmod -R u+w build", Risk.WRITE),
        ("docker run --rm -v {}/repo:/app node npm test", Risk.DANGEROUS),
        ("rm -rf {}/repo/.worktrees/w1/build", Risk.DANGEROUS),
        ("chmod +x /opt/x", Risk.CRITICAL),
        ("grep -r token /home", Risk.DANGEROUS),
    ],
)
def test_assess_shell_when_a_checkout_lies_in_a_system_folder_then_it_is_a_checkout_all_the_same(
    command: str, risk: Risk, place: str
) -> None:
    main = Path(place) / "repo"
    ground = replace(worker_ground(), root=main / ".worktrees" / "w1", main_checkout=main)

    assert assess_shell(command.format(place), ground).risk is risk

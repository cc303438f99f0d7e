"""Compares judgements with what command lines really do in a jail.

Random compositions, always the same ones: what ran code of the folder's must be dangerous, what
changed the folder must not be safe, and every program bash called must be among the parsed ones.
"""

import os
import random
import shutil
from collections.abc import Iterator

import pytest

from modules.records.decisions import Risk
from modules.safety.shell_parse import parse_shell
from modules.safety.shell_risk import assess_shell
from modules.safety.shell_script import Call
from modules.safety.shell_words import Word
from tests.safety.shell_jail import STUBS, ShellJail, needed_jail
from tests.safety.test_shell_risk import AROUND

pytestmark = pytest.mark.slow

RUNS = int(os.environ.get("CREWYARD_ORACLE_RUNS", "25"))
"""Command lines each test really runs; more by the variable."""
PAYLOADS = (
    *("./evil.sh", "sh evil.sh", "python3 evil.py", ". ./evil.sh", '"./evil.sh"', "./ev?l.sh"),
    *("./{evil,x}.sh", "./ev''il.sh", "$PWD/evil.sh", "x=./evil.sh; $x", "set -- ./evil.sh; $1"),
    *(
        "sh < cmds",
        "cat cmds | sh",
        "xargs -a cmds sh -c",
        "awk -f prog.awk",
        "sed -f prog.sed a.txt",
    ),
    *("make", "PATH=.:$PATH ls", "find a.txt -exec ./evil.sh {} +", "sed 1e./evil.sh a.txt"),
    *("tar cf /dev/null a.txt --checkpoint=1 --checkpoint-action=exec=./evil.sh", "env ./evil.sh"),
    *(
        "read x < index; [[ $x -eq 1 ]]",
        "read x < index; echo $((x))",
        "read x < index; echo ${a[$x]}",
    ),
    *("git -c alias.x=!./evil.sh x", "git grep -O./evil.sh one", "coproc ./evil.sh; wait"),
    *(
        "f() { ./evil.sh; }; f",
        "trap ./evil.sh EXIT",
        "split --filter=./evil.sh a.txt",
    ),
    *(
        "touch made",
        "echo x > made",
        "tee made < a.txt",
        "sort -o made a.txt",
        "sed -i s/o/e/ a.txt",
    ),
    *("xxd a.txt made", "uniq a.txt made", "git diff --output=made", "rm a.txt", "mv a.txt made"),
    *(
        "find . -name a.txt -delete",
        "git rm -qf a.txt",
        "awk '{print > \"made\"}' a.txt",
        "gzip a.txt",
    ),
    *(
        "tar cf made a.txt",
        "cp a.txt made",
        "dd if=a.txt of=made",
        "git config x.y z",
        "tee - < a.txt",
    ),
)
PROGRAMS = (
    *(
        "cat",
        "head",
        "tail",
        "sort",
        "uniq",
        "cut",
        "nl",
        "tac",
        "od",
        "xxd",
        "base64",
        "comm",
        "join",
    ),
    *(
        "file",
        "stat",
        "diff",
        "cmp",
        "grep",
        "find",
        "sed",
        "awk",
        "tr",
        "wc",
        "ls",
        "du",
        "tee",
        "touch",
    ),
    *(
        "mkdir",
        "split",
        "date",
        "printf",
        "test",
        "tar",
        "gzip",
        "dd",
        "xargs",
        "git status",
        "git log",
    ),
    *(
        "git diff",
        "git show",
        "git branch",
        "git tag",
        "git config",
        "git grep",
        "git stash",
        "git blame",
    ),
    *("git ls-files", "git rev-parse", "git remote", "git notes", "git archive", "git reflog"),
)
ARGUMENTS = (
    *(
        "a.txt",
        "b.txt",
        "./evil.sh",
        "out",
        "sub",
        "sub/*",
        "*.txt",
        ".",
        "-",
        "--",
        "HEAD",
        "$X",
        "1",
    ),
    *(
        "-exec",
        "-delete",
        "\\;",
        "if=a.txt",
        "of=out",
        "'1e ./evil.sh'",
        "'{print}'",
        "--output=out",
    ),
    *(
        "-o",
        "-w",
        "-i",
        "-e",
        "-f",
        "-n",
        "-c",
        "-x",
        "-r",
        "-C",
        "-O",
        "-l",
        "-v",
        "-s",
        "-d",
        "-m",
        "-h",
    ),
    *(
        "--list",
        "--get",
        "--exec=./evil.sh",
        "--pager=./evil.sh",
        "--ext-diff",
        "-rf",
        "-l./evil.sh",
    ),
)
WORDS = (
    *(
        "x",
        '"$"',
        '":$"',
        "'a b'",
        '"a;b"',
        '"a | b"',
        "a\\ b",
        "\\;",
        "-9",
        "--",
        "#",
        "a#b",
        '"#"',
        "==",
    ),
    *(
        "*.q",
        "{a,b}",
        "{}",
        "!",
        "=",
        "a=b",
        '"$(echo q r)"',
        '\\"',
        "\\'",
        "$'a\\nb'",
        "é",
        "~",
        "${x}",
    ),
    *(
        "${x:-y}",
        "$((1+2))",
        '"a\nb"',
        "a\\\nb",
        "''",
        "do",
        "done",
        "fi",
        "then",
        "]]",
        "]",
        "2",
        "time",
    ),
)
JOINTS = (" | ", " && ", " || ", "; ", "\n", " & ", " |& ", " &&\n", "\n# it's\n", '; echo "#";')


@pytest.fixture(scope="module")
def jail(tmp_path_factory: pytest.TempPathFactory) -> ShellJail:
    return needed_jail(tmp_path_factory.mktemp("jail"))


def misjudged(jail: ShellJail, commands: Iterator[str]) -> tuple[list[str], int]:
    """Returns what was judged too low, and how many commands were run."""
    found: list[str] = []
    count = 0
    for command in commands:
        risk = assess_shell(command, jail.ground).risk
        if risk not in (Risk.SAFE, Risk.WRITE):
            continue
        outcome = jail.run(command)
        count += 1
        if outcome.ran or (outcome.changed and risk is Risk.SAFE):
            found.append(command)
        if count >= RUNS:
            break
    return found, count


def test_jail_when_a_payload_is_run_alone_then_it_has_an_effect(jail: ShellJail) -> None:
    known = [p for p in PAYLOADS if shutil.which(p.split()[0]) or not p.split()[0].isalpha()]

    outcomes = {payload: jail.run(payload) for payload in known}

    idle = [payload for payload, done in outcomes.items() if not (done.ran or done.changed)]
    assert idle == []


def test_assess_shell_when_a_payload_stands_anywhere_then_it_is_not_taken_for_safe(
    jail: ShellJail,
) -> None:
    chance = random.Random(1)
    around = list(AROUND.values())

    def commands() -> Iterator[str]:
        for _ in range(8 * RUNS):
            command = chance.choice(PAYLOADS)
            for _ in range(chance.choice((0, 1, 1, 2, 3))):
                command = chance.choice(around).format(command)
            yield command

    found, count = misjudged(jail, commands())

    assert (found, count > RUNS / 5) == ([], True)


def test_assess_shell_when_programs_get_any_options_then_their_effects_are_known(
    jail: ShellJail,
) -> None:
    chance = random.Random(2)

    def commands() -> Iterator[str]:
        while True:
            arguments = [chance.choice(ARGUMENTS) for _ in range(chance.randint(0, 4))]
            yield " ".join([chance.choice(PROGRAMS), *arguments, chance.choice(("", "< a.txt"))])

    found, count = misjudged(jail, commands())

    assert (found, count) == ([], RUNS)


def test_parse_shell_when_bash_calls_programs_then_they_were_seen(jail: ShellJail) -> None:
    chance = random.Random(3)
    unseen: list[str] = []

    for _ in range(RUNS):
        script = _script(chance, depth=0)
        parsed = parse_shell(script, jail.ground)
        if parsed.doubts:
            continue
        called = jail.run(script).calls
        if not all(any(_matches(call, list(argv)) for call in parsed.calls) for argv in called):
            unseen.append(script)

    assert unseen == []


def _script(chance: random.Random, *, depth: int) -> str:
    if depth > 3 or chance.random() < 0.4:
        words = [chance.choice(WORDS) for _ in range(chance.randint(0, 3))]
        return " ".join([chance.choice(STUBS), *words])
    parts = [_script(chance, depth=depth + 1) for _ in range(2)]
    form = chance.choice(
        (
            *("{0}{2}{1}",) * 6,
            *("({0}){2}{1}", "{{ {0}; }}{2}{1}", "if {0}; then {1}; fi", "./ma $({0}){2}{1}"),
            *("for i in 1 2; do {0}; done{2}{1}", "while {0}; do {1}; break; done"),
            *("./mb <<'E'{2}./mc\nit's {{\nE\n{0}", 'case "x" in x) {0};; *) {1};; esac'),
        )
    )
    joint = chance.choice(JOINTS) if "<<'E'" not in form else chance.choice((" | ", " && "))
    return form.format(*parts, joint)


def _matches(call: Call, argv: list[str]) -> bool:
    words = list(call.words)
    while words and words[0].text in ("time", "!"):
        words.pop(0)
    return _fits(words, argv)


def _fits(words: list[Word], argv: list[str]) -> bool:
    """True where the words may become those arguments; an unknown one may become any number."""
    if not words:
        return not argv
    first, rest = words[0], words[1:]
    if first.is_known and not first.is_split:
        return bool(argv) and argv[0] == first.text and _fits(rest, argv[1:])
    return any(_fits(rest, argv[start:]) for start in range(len(argv) + 1))


def test_jail_when_a_lane_is_read_then_nothing_happens(jail: ShellJail) -> None:
    outcome = jail.run("cat a.txt; git status; echo done > /dev/null")

    assert (outcome.ran, outcome.changed, outcome.calls) == (False, False, ())

"""Tests of modules/safety/shell_parse.py: where the parser errs, and what is known of a script."""

import random

import pytest

from modules.safety.shell_parse import parse_shell
from modules.safety.shell_script import Direction
from modules.safety.shell_words import UNKNOWN
from tests.safety.grounds import worker_ground


def programs(command: str) -> list[str]:
    """Returns the names of the commands of a script that is understood."""
    script = parse_shell(command, worker_ground())

    assert script.doubts == ()
    return [call.words[0].text for call in script.calls]


@pytest.mark.parametrize(
    ("command", "names"),
    [
        ("a -9 --flag -- x", ["a"]),
        ("a | b | c && d || e; f & g", ["a", "b", "c", "d", "e", "f", "g"]),
        ("a | b \":$\" | c 'x'\nd && e", ["a", "b", "c", "d", "e"]),
        ("a == x; b", ["a", "b"]),
        ("a =~ x | b", ["a", "b"]),
        ("a $(b $(c))", ["c", "b", "a"]),
        ("cat - <<'E'\nb\nE", ["cat"]),
        ("a \"$(cat <<'E'\nx\nE\n)\"; b", ["cat", "a", "b"]),
        ("cat <<'E'; b\nx\nE\nc", ["cat", "b", "c"]),
        ("cat <<'E' 2>&1 | b\nx\nE", ["cat", "b"]),
        ("cat <<'A' <<'B'\nx\nA\ny\nB", ["cat"]),
        ("a > out b", ["a"]),
        ("> out a b", ["a"]),
        ("a; # don't\nb", ["a", "b"]),
        ("a \\\n  b", ["a"]),
        ("é ü; b", ["é", "b"]),
    ],
)
def test_parse_shell_when_bash_would_run_commands_then_they_are_seen(
    command: str, names: list[str]
) -> None:
    assert programs(command) == names


@pytest.mark.parametrize(
    "command",
    [
        "a\\\nb c",
        "cat <<E\n$(b)\nE",
        "cat <<E\n`b`\nE",
        "a `b`",
        "{fd}> x a",
        "echo \"<<'E'\"; ls )\nrm\nE",
        "cat <<É\nÈ\necho '\nÉ\nb\n'",
        'a $"b"',
        "a $(cat <<'E'\nx\nE\nb; c)",
        "a 'b",
    ],
)
def test_parse_shell_when_bash_may_read_it_otherwise_then_it_is_doubted(command: str) -> None:
    assert parse_shell(command, worker_ground()).doubts


def test_parse_shell_when_letters_are_far_up_in_unicode_then_the_process_survives() -> None:
    chance = random.Random(1)
    signs = "{}$()`'\"\\;&|<>#*=[]~ \n\taX1"

    for _ in range(3000):
        letters = [
            chr(chance.randint(0x10000, 0x10FFFF))
            if chance.random() < 0.4
            else chance.choice(signs)
            for _ in range(12)
        ]
        parse_shell("X{" + "".join(letters), worker_ground())


def test_parse_shell_when_pipes_and_lists_mix_then_only_pipes_feed() -> None:
    script = parse_shell("a | b | c && d", worker_ground())

    assert [call.upstream for call in script.calls] == [(), (0,), (0, 1), ()]


def test_parse_shell_when_words_are_quoted_then_their_values_are_known() -> None:
    script = parse_shell(
        'a \'x y\' "b$HOME" c\\ d $\'e\\tf\' ~/g {h,i}j "$K" "*" *.l', worker_ground()
    )

    words = script.calls[0].words[1:]
    assert [word.text for word in words] == [
        *("x y", "b/home/u", "c d", "e\tf", "/home/u/g", "hj", "ij", UNKNOWN, "*", "*.l"),
    ]
    assert [word.has_glob for word in words] == [False] * 9 + [True]


def test_parse_shell_when_names_are_assigned_then_values_are_known_where_they_are_sure() -> None:
    script = parse_shell("A=x; a $A; if b; then A=y; fi; c $A", worker_ground())

    sure, unsure = script.calls[0].words[1], script.calls[2].words[1]
    assert (sure.text, sure.others) == ("x", ())
    assert (unsure.text, unsure.others) == (UNKNOWN, ("x", "y"))


@pytest.mark.parametrize(
    ("command", "folders"),
    [
        ("cd src && a", ("/src",)),
        ("cd src; a", ("", "/src")),
        ("cd src || exit; a", ("/src",)),
        ("set -e; cd src; a", ("/src",)),
        ("(cd src); a", ("",)),
        ("cd src | b; a", ("",)),
        ("cd src && cd ../lib && a", ("/lib",)),
        ('cd "$(git rev-parse --show-toplevel)" && a', ("",)),
        ("cd /repo/.worktrees/w1/ && a", ("",)),
    ],
)
def test_parse_shell_when_cd_is_called_then_the_folders_after_it_are_known(
    command: str, folders: tuple[str, ...]
) -> None:
    script = parse_shell(command, worker_ground())

    assert script.calls[-1].folders == tuple(f"/repo/.worktrees/w1{folder}" for folder in folders)


def test_parse_shell_when_redirects_are_given_then_files_and_descriptors_are_told_apart() -> None:
    script = parse_shell("a < in > out 2>> log 2>&1 >&2 3>&- &> all", worker_ground())

    found = [(redirect.direction, redirect.target.text) for redirect in script.redirects]
    assert found == [
        (Direction.READ, "in"),
        (Direction.WRITE, "out"),
        (Direction.WRITE, "log"),
        (Direction.WRITE, "all"),
    ]


def test_parse_shell_when_a_here_document_is_only_text_then_it_is_the_input() -> None:
    script = parse_shell("sh <<'E' | a\nrm $(x)\nE", worker_ground())

    assert [call.input_text for call in script.calls] == ["rm $(x)\n", None]

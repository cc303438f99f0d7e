"""Tests of the readers of other languages' scripts: sed and awk."""

import pytest

from modules.safety.shell_awk import read_awk
from modules.safety.shell_sed import read_sed


@pytest.mark.parametrize(
    "script",
    [
        *("1,40p", "s/a/b/g", "s|a/b|c|", "/x/d", "$!N;P;D", "5q", "/a/,/b/p", "1~2p", "y/ab/cd/"),
        *(":a;N;$!ba;s/\\n/ /g", "/x/{s/a/b/;p}", "s/[^,]*,//", "s/[^\\/]*\\///", "2i\\\ntext"),
        *("a some text", "/start/,+3p", "\\,x,d", "10,20{p}", "s/a/b/;s/c/d/", "/x/Id", "#n\np"),
    ],
)
def test_read_sed_when_a_script_only_prints_then_it_is_understood(script: str) -> None:
    use = read_sed(script)

    assert (use.is_understood, use.writes) == (True, [])


@pytest.mark.parametrize(
    "script",
    ["e id", "1e id", "s/x/y/e", "s/x/y/ge", ":a e id", "p e id", "a x\\\\\ne id", "s/[/]/x/", "k"],
)
def test_read_sed_when_a_script_may_run_something_then_it_is_not_understood(script: str) -> None:
    assert not read_sed(script).is_understood


def test_read_sed_when_a_script_names_files_then_they_are_known() -> None:
    use = read_sed("s/a/b/w one\n1w two\nr three")

    assert (use.writes, use.reads) == (["one", "two"], ["three"])


@pytest.mark.parametrize(
    "program",
    [
        *("{print $1}", "$3 > 100", "{ if ($1 > 5) print $2 }", "/foo|bar/ {print}", "!seen[$0]++"),
        *(
            "{print $1/2}",
            "NR==FNR{a[$1];next} $1 in a",
            '{gsub(/a\\/b/,"x"); print}',
            "{x} /y/ {z}",
        ),
        *("BEGIN{for(i=0;i<3;i++) print i}", '{printf "%s\\n", ($1>2)?"a":"b"}', "END{print s/NR}"),
    ],
)
def test_read_awk_when_a_program_only_prints_then_it_is_understood(program: str) -> None:
    use = read_awk(program)

    assert (use.is_understood, use.writes) == (True, [])


@pytest.mark.parametrize(
    "program",
    [
        *('BEGIN{system("id")}', '{print | "sh"}', '{"id" | getline x}', '{print ENVIRON["X"]}'),
        *(
            "{print > $1}",
            '{print > "a" "b"}',
            '@include "x"',
            '{x = 1 /system("id")/ 2}',
            '{f = "x',
        ),
        *('if (1) /"/; print "x" | "sh" #"', '{print > "/inet/tcp/0/h/80"}', '{getline < "x"}'),
    ],
)
def test_read_awk_when_a_program_may_run_something_then_it_is_not_understood(program: str) -> None:
    assert not read_awk(program).is_understood


@pytest.mark.parametrize(
    "program",
    [
        '{print > "f"}',
        '{print $1, $2 >> "f"}',
        'BEGIN{for(i=0;i<3;i++) print i > "f"}',
        '{print (1,\n2) > "f"}',
        '{print a[1] > "f"; close("f")}',
    ],
)
def test_read_awk_when_a_program_writes_a_file_then_it_is_known(program: str) -> None:
    use = read_awk(program)

    assert (use.is_understood, use.writes) == (True, ["f"])

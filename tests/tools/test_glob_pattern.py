"""Which paths a glob names."""

import time

import pytest

from modules.records.errors import ModelFault
from tools.glob_pattern import compile_glob


@pytest.mark.parametrize(
    ("pattern", "yes", "no"),
    [
        ("*.py", ["a.py", "src/a.py", ".hidden.py", "a/b/c.py"], ["a.pyc", "py", "a.py/b"]),
        ("./*.py", ["a.py"], ["src/a.py"]),
        ("src/*.py", ["src/a.py"], ["a.py", "src/b/a.py", "x/src/a.py"]),
        ("src/**/*.py", ["src/a.py", "src/b/a.py", "src/b/c/a.py"], ["a.py", "xsrc/a.py"]),
        ("**/test_*.py", ["test_a.py", "a/b/test_b.py"], ["a/test_b.txt", "xtest_a.py"]),
        ("**", ["a", "a/b"], []),
        ("src/**", ["src/a", "src/a/b"], ["a", "srcs/a"]),
        ("**/src/**/a.py", ["src/a.py", "x/src/y/a.py"], ["src", "a.py"]),
        ("*.{py,md}", ["a.py", "b/a.md"], ["a.txt", "a.{py,md}"]),
        ("{src,tests}/{a,b}.py", ["src/a.py", "tests/b.py"], ["src/c.py"]),
        ("{a,b{c,d}}", ["a", "bc", "bd"], ["b", "c"]),
        ("[ab]?.py", ["ax.py", "c/b1.py"], ["a.py", "cx.py"]),
        ("a.b+c$(1)", ["a.b+c$(1)"], ["axb+c$(1)", "abc"]),
        ("Makefile", ["Makefile", "sub/Makefile"], ["makefile"]),
        ("日本*.txt", ["日本語.txt"], ["本.txt"]),
    ],
)
def test_compile_glob_names_what_people_expect(pattern: str, yes: list[str], no: list[str]) -> None:
    matches = compile_glob(pattern)

    assert [path for path in (*yes, *no) if matches(path)] == yes


@pytest.mark.parametrize("pattern", ["/etc/*", "../*", "a/../../b"])
def test_compile_glob_when_a_pattern_leaves_the_folder_then_it_is_refused(pattern: str) -> None:
    with pytest.raises(ModelFault, match="must be relative"):
        compile_glob(pattern)


@pytest.mark.parametrize("pattern", ["{a,b}" * 7, "{" + ",".join("x" * 65) + "}"])
def test_compile_glob_when_braces_explode_then_it_is_refused(pattern: str) -> None:
    with pytest.raises(ModelFault, match="stands for too many others"):
        compile_glob(pattern)


@pytest.mark.parametrize(
    ("pattern", "path"),
    [
        ("*a" * 60 + "b", "a" * 250),
        ("**/" * 40 + "b", "a/" * 1000 + "a"),
        ("**/*a/" * 30 + "b", "a/" * 1000 + "a"),
    ],
)
def test_compile_glob_when_a_pattern_is_hostile_then_it_takes_no_time(
    pattern: str, path: str
) -> None:
    started = time.monotonic()

    assert not compile_glob(pattern)(path)
    assert time.monotonic() - started < 1

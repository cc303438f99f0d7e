"""Globs that may name the same file overlap; a doubt counts as an overlap."""

from fnmatch import fnmatchcase

import pytest
from hypothesis import given
from hypothesis import strategies as st

from modules.team.globs import overlap


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("src/a.py", "src/a.py"),
        ("src/a.py", "src"),
        ("src/", "src/a.py"),
        ("src/*.py", "src/a.py"),
        ("src/*.py", "src/sub/a.py"),
        ("src/**", "src/a/b/c.py"),
        ("src/a*", "src/ab.py"),
        ("src/a*/x", "src/abc"),
        ("src/[ab].py", "src/b.py"),
        ("src/{a,b}.py", "src/b.py"),
        ("src/a?", "src/a*"),
        ("**", "a"),
        ("**/*.md", "docs/a.md"),
        ("*", "anything/below"),
        ("./src//a.py", "/src/a.py"),
        ("src/../lib/a.py", "lib/a.py"),
        ("", "a"),
        ("a\\*b", "a*b"),
    ],
)
def test_globs_that_may_name_one_file_overlap_both_ways(one: str, other: str) -> None:
    assert overlap([one], [other])
    assert overlap([other], [one])
    assert overlap(["elsewhere", one], ["nowhere", other])


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("src/a.py", "src/b.py"),
        ("src/a", "src/ab"),
        ("src", "source"),
        ("src/*.py", "tests/*.py"),
        ("tests/test_a*.py", "tests/test_b*.py"),
        ("src/a*", "src/b.py"),
        ("src/a/**", "src/ab/**"),
        ("a.py", "a.pyc"),
    ],
)
def test_globs_that_name_no_file_in_common_do_not_overlap(one: str, other: str) -> None:
    assert not overlap([one], [other])
    assert not overlap([other], [one])


def test_no_globs_overlap_with_nothing() -> None:
    assert not overlap([], ["**"])
    assert not overlap(["**"], [])
    assert not overlap([], [])


PARTS = st.sampled_from(["a", "b", "ab", "*", "a*", "?b", "[ab]", "**", "."])
GLOBS = st.lists(PARTS, min_size=1, max_size=4).map("/".join)
PATHS = st.lists(st.sampled_from(["a", "b", "ab", "bb"]), min_size=1, max_size=4)


@given(one=GLOBS, other=GLOBS, path=PATHS)
def test_globs_that_both_name_a_path_always_overlap(one: str, other: str, path: list[str]) -> None:
    if names(one, path) and names(other, path):
        assert overlap([one], [other])


def names(glob: str, path: list[str]) -> bool:
    """Returns whether a glob names a path or a folder it lies in."""
    parts = [part for part in glob.split("/") if part != "."]
    return any(matches(parts, path[:length]) for length in range(1, len(path) + 1))


def matches(parts: list[str], path: list[str]) -> bool:
    if not parts:
        return not path
    if parts[0] == "**":
        return any(matches(parts[1:], path[skip:]) for skip in range(len(path) + 1))
    return bool(path) and fnmatchcase(path[0], parts[0]) and matches(parts[1:], path[1:])

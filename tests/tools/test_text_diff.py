"""The diff that is shown is the true one."""

import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tools.text_diff import short_diff


@pytest.mark.parametrize(
    ("before", "after", "diff"),
    [
        ("a\n", "a\n", ""),
        ("a\nb\nc\n", "a\nB\nc\n", "@@ -1,3 +1,3 @@\n a\n-b\n+B\n c"),
        ("", "a\n", "@@ -0,0 +1,1 @@\n+a"),
        ("a\n", "", "@@ -1,1 +0,0 @@\n-a"),
        (
            "a",
            "a\n",
            "@@ -1,1 +1,1 @@\n-a\n\\ No newline at end of file\n+a",
        ),
        (
            "".join(f"{n}\n" for n in range(1, 100)),
            "".join(f"{n}\n" for n in range(1, 100) if n != 50),
            "@@ -47,7 +47,6 @@\n 47\n 48\n 49\n-50\n 51\n 52\n 53",
        ),
        ("a\u2028b\n", "a\u2028c\n", "@@ -1,1 +1,1 @@\n-a\u2028b\n+a\u2028c"),
    ],
)
def test_short_diff_shows_the_hunks(before: str, after: str, diff: str) -> None:
    assert short_diff(before, after) == diff


LINES = st.lists(st.sampled_from(["a", "b", "c", "d", ""]), max_size=30)


@pytest.mark.slow
@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(before=LINES, after=LINES, end=st.sampled_from(["", "\n"]))
def test_short_diff_when_git_applies_it_then_the_file_is_the_new_one(
    tmp_path: Path, before: list[str], after: list[str], end: str
) -> None:
    """EDT-02: the reported diff is the real one."""
    old, new = "\n".join(before) + end, "\n".join(after) + end
    diff = short_diff(old, new)
    file = tmp_path / "file"
    file.write_text(old)
    if not diff:
        assert old == new
        return

    patch = f"--- a/file\n+++ b/file\n{diff}\n"
    subprocess.run(["git", "apply"], input=patch, text=True, cwd=tmp_path, check=True)

    assert file.read_text() == new


def test_short_diff_when_it_is_long_then_the_rest_is_counted() -> None:
    diff = short_diff("".join("a\n" for _ in range(100)), "".join("b\n" for _ in range(100)))

    assert diff.splitlines()[0] == "@@ -1,100 +1,100 @@"
    assert diff.endswith("\n[121 more lines of the diff]")


def test_short_diff_when_it_is_huge_then_it_is_only_told_how_big() -> None:
    before = "".join(f"a{n}\n" for n in range(3_000))

    assert short_diff(before, before.replace("a", "b")) == (
        "[3000 lines from line 1 on became 3000 lines]"
    )


def test_short_diff_when_a_line_is_huge_then_it_is_cut() -> None:
    diff = short_diff("x" * 1000 + "\n", "y" * 1000 + "\n")

    assert "-" + "x" * 400 + " [600 more characters]" in diff.splitlines()

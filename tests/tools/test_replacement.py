"""A replacement changes what it replaces, and nothing else."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from modules.records.errors import ModelFault
from tools.replacement import Edit, replaced


def after(text: str, old: str, new: str, *, replace_all: bool = False) -> str:
    return replaced(text, Edit(old_text=old, new_text=new, replace_all=replace_all))[0]


@pytest.mark.parametrize(
    ("text", "old", "new", "expected"),
    [
        pytest.param(
            "a\r\nb\r\nc\nd\r\n", "a\nb", "a\nX\nb", "a\r\nX\r\nb\r\nc\nd\r\n", id="between"
        ),
        pytest.param("a\r\nb\r\nc\nd\r\n", "c", "c\nX", "a\r\nb\r\nc\nX\nd\r\n", id="after LF"),
        pytest.param("a\r\nb\r\nc\nd\r\n", "b", "b\nX", "a\r\nb\r\nX\r\nc\nd\r\n", id="after CRLF"),
        pytest.param("a\r\nb\r\nc\nd\r\n", "b\nc", "b\nc\nX", "a\r\nb\r\nc\nX\nd\r\n", id="end"),
        pytest.param("a\r\nb\r\nc\nd\r\n", "c\nd", "c\nX\nd", "a\r\nb\r\nc\nX\nd\r\n", id="middle"),
        pytest.param("a\r\nb\r\nc\nd\r\n", "b\nc\nd", "b\nd", "a\r\nb\r\nd\r\n", id="line out"),
        pytest.param("a\r\nb\r\nc\nd\r\n", "b\nc", "B\nC", "a\r\nB\r\nC\nd\r\n", id="both lines"),
        pytest.param("a\nb\r\n", "b", "X\nb", "a\nX\nb\r\n", id="before"),
        pytest.param("b\r\n", "b", "X\nb", "X\r\nb\r\n", id="before the first"),
        pytest.param("a\r\nb", "b", "b\nX", "a\r\nb\r\nX", id="after a last line without break"),
        pytest.param("b", "b", "b\nX", "b\nX", id="no break anywhere"),
        pytest.param("a\r\nb\r\n", "b\n", "", "a\r\n", id="whole line out"),
        pytest.param("a\r\n\r\nb\r\n", "a\n\nb", "a\nb", "a\r\nb\r\n", id="empty line out"),
        pytest.param("a\nb\n", "a\nb", "a\r\nb", "a\r\nb\n", id="own returns are kept"),
        pytest.param("a\r\nb\r\n", "a\r\nb", "a\nb", "a\nb\r\n", id="returns taken out on purpose"),
    ],
)
def test_replaced_when_line_breaks_are_mixed_then_each_line_keeps_its_own(
    text: str, old: str, new: str, expected: str
) -> None:
    """EDT-01."""
    assert after(text, old, new) == expected


PATTERNS = ["$&", "$$", "$1", r"\1", r"\g<0>", r"\n", "{0}", "%s", "%(x)s", "&", "${x}"]


@pytest.mark.parametrize("new", [*PATTERNS, " ".join(PATTERNS)])
@pytest.mark.parametrize("old", ["a.b(c)[d]*", r"\d+|^$", "(?:x", "{1,2}"])
@pytest.mark.parametrize("replace_all", [False, True])
def test_replaced_when_texts_look_like_patterns_then_they_are_taken_literally(
    old: str, new: str, replace_all: bool
) -> None:
    """EDT-02."""
    text = f"before {old} after aXb(c)d 1"

    assert after(text, old, new, replace_all=replace_all) == f"before {new} after aXb(c)d 1"


def test_replaced_when_done_with_a_pattern_then_the_text_would_be_another() -> None:
    """EDT-02: the trouble is there without the guard."""
    assert re.sub(re.escape("x"), r"\g<0>", "x") != r"\g<0>"


LINE = st.text(alphabet="ab’'\u00a0 é", max_size=4)
TEXT = st.lists(st.tuples(LINE, st.sampled_from(["\n", "\r\n"])), max_size=8).map(
    lambda lines: "".join(line + line_break for line, line_break in lines)
)


@given(before=TEXT, after_=TEXT, new=TEXT)
def test_replaced_when_anything_is_replaced_then_all_around_it_stays(
    before: str, after_: str, new: str
) -> None:
    """EDT-01, EDT-06: for any text."""
    text = f"{before}<mark>{after_}"

    result = after(text, "<mark>", new)

    assert result.startswith(before)
    assert result.endswith(after_)
    middle = result[len(before) : len(result) - len(after_)]
    assert middle.replace("\r\n", "\n") == new.replace("\r\n", "\n")


@given(text=TEXT, old=LINE.filter(bool), new=LINE)
def test_replaced_when_all_are_replaced_then_it_is_what_plain_replacement_gives(
    text: str, old: str, new: str
) -> None:
    if old == new or old not in text:
        return

    edit = Edit(old_text=old, new_text=new, replace_all=True)

    assert replaced(text, edit) == (text.replace(old, new), text.count(old))


@pytest.mark.parametrize(
    ("text", "old", "new", "message"),
    [
        ("a", "a", "a", "old_text and new_text are the same"),
        ("x = 1\n" * 3, "x", "y", r"occurs 3 times, on lines 1, 2, 3\. Add the lines around"),
        ("x\n" * 30, "x", "y", "occurs 30 times, on lines 1, 2, .*10, …"),
        ("done = 2\n", "done = 1", "done = 2", "new_text is in the file already"),
        ("def mean(values):\n    pass\n", "def mean(value):", "x", r"line 1: def mean\(values\):"),
        ("nothing alike\n", "@@@@", "x", "No line of the file is like it"),
        ("", "a", "b", "No line of the file is like it"),
    ],
)
def test_replaced_when_it_cant_be_done_then_the_fault_says_what_helps(
    text: str, old: str, new: str, message: str
) -> None:
    with pytest.raises(ModelFault, match=message):
        after(text, old, new)


@pytest.mark.parametrize(
    ("line", "old"),
    [
        ("say(“hi”)", 'say("hi")'),
        ("don’t", "don't"),
        ("a\u00a0=\u00a0b", "a = b"),
        ("one — two", "one - two"),
        ("x = 1   ", "x  = 1"),
        ("\tx = 1", "    x = 1"),
        ("zero\u200bwidth", "zerowidth"),
        ("ｆｕｌｌ", "full"),
    ],
)
def test_replaced_when_only_quotes_and_blanks_differ_then_the_true_lines_are_shown(
    line: str, old: str
) -> None:
    """EDT-06: no match is made up; the model gets what it needs to copy."""
    with pytest.raises(ModelFault) as caught:
        after(f"first\n{line}\nlast\n", old, "new")

    assert "From line 2 the file differs from it only in" in str(caught.value)
    assert line in str(caught.value)


def test_replaced_when_lookalikes_are_of_several_lines_then_characters_are_named() -> None:
    """EDT-06."""
    text = "a\nb = ‘x’\nc  \nd\n"

    with pytest.raises(ModelFault) as caught:
        after(text, "b = 'x'\nc\nd", "new")

    assert "U+2018 LEFT SINGLE QUOTATION MARK" in str(caught.value)
    assert str(caught.value).endswith("b = ‘x’\nc  \nd")


def test_replaced_when_only_quotes_change_then_that_is_a_change() -> None:
    """EDT-07."""
    assert after("say 'x'", "'x'", "’x’") == "say ’x’"

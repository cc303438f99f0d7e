"""Text that a terminal would obey is shown, not sent."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from modules.app.visible_text import visible, visible_line

ORDER = "\x1b[2J"


def test_attack_without_protection_reaches_the_terminal() -> None:
    assert "\x1b" in ORDER


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (ORDER, r"\x1b[2J"),
        ("a\rb", r"a\rb"),
        ("a\r\nb", "a\nb"),
        ("\x07\x08\x7f\x9b", r"\x07\x08\x7f\x9b"),
        ("pay \u202elive", r"pay \u202elive"),
        ("a\u2028b\ud800", r"a\u2028b\ud800"),
        ("tab\tand\nline", "tab\tand\nline"),
        ("漢字 👩‍👩‍👧 e\u0301 ❤️ क्ष", "漢字 👩‍👩‍👧 e\u0301 ❤️ क्ष"),
    ],
)
def test_visible_shows_what_would_be_obeyed_and_keeps_words(text: str, shown: str) -> None:
    assert visible(text) == shown


@given(st.text())
def test_visible_text_has_no_control_character(text: str) -> None:
    shown = visible(text)

    assert all(sign.isprintable() or sign in "\n\t" or ord(sign) > 0x9F for sign in shown)
    assert visible(shown) == shown


def test_visible_line_is_the_first_that_holds_something() -> None:
    assert visible_line("\n  \n  first\x1b\nsecond") == r"first\x1b"
    assert visible_line(" \n") == ""

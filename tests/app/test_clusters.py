"""CON-03: what a person sees as one character is stepped over and deleted as one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from wcwidth import iter_graphemes, wcswidth, wcwidth

from modules.app.clusters import cluster_after, cluster_before, shown_line

FAMILY = "👩‍👩‍👧"
ACCENT = "e\u0301"


@pytest.mark.parametrize("cluster", ["a", "漢", FAMILY, ACCENT, "🇩🇪", "👍🏽", "❤️", "क्ष"])
def test_cluster_is_one_step_in_both_directions(cluster: str) -> None:
    text = f"x{cluster}y"

    assert cluster_after(text, 1) == len(cluster)
    assert cluster_before(text, 1 + len(cluster)) == len(cluster)


def test_no_cluster_lies_beyond_the_ends() -> None:
    assert cluster_before("漢", 0) == 0
    assert cluster_after("漢", 1) == 0
    assert cluster_before("", 0) == cluster_after("", 0) == 0


@given(st.text(alphabet=st.sampled_from([*"ab\t漢é", *FAMILY, *ACCENT, *"👍🏽❤️🇩🇪"])))
def test_stepping_through_meets_every_cluster(text: str) -> None:
    steps: list[str] = []
    position = 0
    while position < len(text):
        step = cluster_after(text, position)
        steps.append(text[position : position + step])
        position += step

    assert steps == list(iter_graphemes(text))
    for cluster in reversed(steps):
        assert cluster_before(text, position) == len(cluster)
        position -= len(cluster)


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("plain", "plain"),
        ("a\tb", "a    b"),
        (f"漢{FAMILY}{ACCENT}", f"漢👩{ACCENT}"),
        ("👍🏽❤️", "👍❤"),
        ("🇩🇪 क्ष", "🇩🇪 क्ष"),
    ],
)
def test_shown_line_takes_one_width_on_every_terminal(line: str, shown: str) -> None:
    assert shown_line(line).text == shown


def test_cursor_stands_where_the_width_says() -> None:
    text = f"漢字テスト{FAMILY}{ACCENT}"
    line = shown_line(text)

    shown = line.text[: line.to_shown(len(text))]

    assert sum(wcwidth(sign) for sign in shown) == wcswidth(text) == 13


def test_places_lead_back_to_the_cluster_they_show() -> None:
    line = shown_line(f"a{FAMILY}b")

    assert [line.to_line(at) for at in range(4)] == [0, 1, 6, 7]
    assert [line.to_shown(at) for at in range(9)] == [0, 1, 1, 1, 1, 1, 2, 3, 4]

"""What is looked at for coming conflicts, and what is told of them."""

from modules.team.clash_rules import Clash, Tangle, Track, news, pairs_of, tangles, untried

FILES = frozenset({"a.py", "b.py"})


def test_pairs_of_lanes_are_each_two_tasks_and_each_with_what_has_landed() -> None:
    tracks = [Track(3, "c3"), Track(1, "c1"), Track(2, "c2")]

    assert pairs_of(tracks, landed="c0") == {
        (0, 1): ("c0", "c1"),
        (0, 2): ("c0", "c2"),
        (0, 3): ("c0", "c3"),
        (1, 2): ("c1", "c2"),
        (1, 3): ("c1", "c3"),
        (2, 3): ("c2", "c3"),
    }


def test_pairs_of_lanes_of_one_task_are_none() -> None:
    assert set(pairs_of([Track(1, "old"), Track(1, "new")], landed="c0")) == {(0, 1)}


def test_untried_are_only_commits_that_moved() -> None:
    pairs = {(0, 1): ("c0", "c1"), (0, 2): ("c0", "c2"), (1, 2): ("c1", "c2")}

    assert untried(pairs, [("c0", "c1")]) == [("c0", "c2"), ("c1", "c2")]


def test_news_of_a_conflict_are_told_once_and_again_for_another_file() -> None:
    tracks = [Track(1, "c1"), Track(2, "c2")]

    first, told = news(tracks, {(1, 2): frozenset({"a.py"})}, {})
    again, told = news(tracks, {(1, 2): frozenset({"a.py"})}, told)
    more, told = news(tracks, {(1, 2): FILES}, told)
    fewer, told = news(tracks, {(1, 2): frozenset({"b.py"})}, told)

    assert first == [Clash((1, 2), ("a.py",))]
    assert again == []
    assert more == [Clash((1, 2), ("b.py",))]
    assert fewer == []


def test_news_when_a_conflict_vanished_and_is_back_then_it_is_told_again() -> None:
    tracks = [Track(1, "c1"), Track(2, "c2")]

    _, told = news(tracks, {(1, 2): FILES}, {})
    gone, told = news(tracks, {(1, 2): frozenset()}, told)
    back, _ = news(tracks, {(1, 2): FILES}, told)

    assert (gone, back) == ([], [Clash((1, 2), ("a.py", "b.py"))])


def test_news_when_work_waits_for_its_verdict_then_what_has_landed_is_left_to_it() -> None:
    tracks = [Track(1, "c1", awaits_verdict=True), Track(2, "c2")]
    found = {(0, 1): FILES, (0, 2): FILES, (1, 2): FILES}

    fresh, told = news(tracks, found, {})
    after, _ = news([Track(1, "c1"), Track(2, "c2")], found, told)

    assert [clash.pair for clash in fresh] == [(0, 2), (1, 2)]
    assert after == []


def test_tangles_are_lanes_that_a_chain_of_conflicts_joins_and_what_has_landed_apart() -> None:
    clashes = [
        Clash((0, 2), ("a.py",)),
        Clash((0, 3), ("a.py",)),
        Clash((1, 2), ("a.py", "b.py")),
        Clash((2, 3), ("a.py", "b.py", "c.py")),
        Clash((4, 5), ("a.py",)),
    ]

    assert tangles(clashes) == [
        Tangle((2, 3), ("a.py",), with_landed=True),
        Tangle((1, 2, 3), ("a.py", "b.py")),
        Tangle((4, 5), ("a.py",)),
        Tangle((2, 3), ("c.py",)),
    ]


def test_tangles_of_sixteen_lanes_that_change_one_line_are_one() -> None:
    numbers = range(1, 17)
    found = {(one, other): FILES for one in numbers for other in numbers if one < other}

    fresh, told = news([Track(n, f"c{n}") for n in numbers], found, {})
    again, _ = news([Track(n, f"c{n}") for n in numbers], found, told)

    assert len(fresh) == 120
    assert tangles(fresh) == [Tangle(tuple(numbers), ("a.py", "b.py"))]
    assert again == []

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from modules.mcp_client.names import distinct_names, public_name

LEGAL = re.compile(r"[a-zA-Z0-9_-]{1,64}")


def test_public_name_when_both_parts_are_legal_keeps_them() -> None:
    assert public_name("git-hub", "create_issue") == "mcp__git-hub__create_issue"


@pytest.mark.parametrize(
    ("server", "tool"),
    [
        ("my server.v2", "get:/users/{id}"),
        ("my server.v2", "a.b"),
        ("s", "ünï"),
        ("ünï", "t"),
        ("s", "t" * 90),
        ("s" * 90, "t" * 90),
        ("", ""),
        ("s", "\ud800"),
        ("s", "a\nb"),
        ("s\n", "a\n"),
    ],
    ids=repr,
)
def test_public_name_when_a_part_is_not_legal_is_legal_and_tells_the_tool(
    server: str, tool: str
) -> None:
    name = public_name(server, tool)

    assert LEGAL.fullmatch(name)
    assert name.startswith("mcp__")
    assert name != public_name(server, tool + "x")
    assert name != public_name(server + "x", tool)


def test_public_name_when_two_tools_clean_up_alike_differs() -> None:
    assert public_name("s", "a.b") != public_name("s", "a_b") == "mcp__s__a_b"
    assert public_name("my.server", "t") != public_name("my_server", "t")


def test_public_name_when_underscores_could_stand_in_either_part_differs() -> None:
    # Unguarded, both would be mcp__a__b__c, and mcp__a___b.
    assert public_name("a__b", "c") != public_name("a", "b__c")
    assert public_name("a_", "b") != public_name("a", "_b")


def test_public_name_when_the_server_is_odd_has_one_front_for_all_its_tools() -> None:
    fronts = {public_name("my server.v2", tool).split("__")[1] for tool in ("a", "b.c", "d" * 90)}

    assert len(fronts) == 1


def test_distinct_names_when_one_tool_is_spelled_like_anothers_hash_tells_them_apart() -> None:
    odd = ("s", "a.b")
    imitation = ("s", public_name(*odd).removeprefix("mcp__s__"))
    assert public_name(*odd) == public_name(*imitation)

    names = distinct_names([odd, imitation, ("s", "plain")])

    assert len(set(names.values())) == 3
    assert names["s", "plain"] == "mcp__s__plain"
    assert all(LEGAL.fullmatch(name) for name in names.values())


@settings(deadline=None)
@given(st.sets(st.tuples(st.text(max_size=80), st.text(max_size=80)), max_size=12))
def test_distinct_names_of_any_tools_are_legal_distinct_and_the_same_in_any_order(
    origins: set[tuple[str, str]],
) -> None:
    names = distinct_names(origins)

    assert all(LEGAL.fullmatch(name) for name in names.values())
    assert len(set(names.values())) == len(origins)
    assert names == distinct_names(sorted(origins, reverse=True))


@settings(deadline=None)
@given(st.text(alphabet="a_.", max_size=6), st.text(alphabet="a_.", max_size=6))
def test_public_name_of_any_tool_shows_where_its_server_ends(server: str, tool: str) -> None:
    front = public_name(server, "x").removesuffix("__x")

    assert public_name(server, tool).startswith(f"{front}__")
    assert "__" not in front.removeprefix("mcp__")

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest

from modules.mcp_client.link import Refusal
from modules.mcp_client.listing import MAX_PAGES, list_tools


class Pages:
    """Answers tools/list from a script; the last page comes again for ever."""

    def __init__(self, *pages: dict[str, Any]) -> None:
        self._pages = pages
        self.asked: list[Mapping[str, Any]] = []

    async def __call__(self, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        assert method == "tools/list"
        self.asked.append(params)
        return self._pages[min(len(self.asked), len(self._pages)) - 1]


def page(*names: str, cursor: object = None) -> dict[str, Any]:
    return {"tools": [{"name": name} for name in names], "nextCursor": cursor}


def test_list_follows_the_cursor_to_the_end() -> None:
    pages = Pages(page("a", cursor="1"), page(cursor="2"), page("b", cursor=""))

    offer = asyncio.run(list_tools("s", pages))

    assert [tool.tool for tool in offer.tools] == ["a", "b"]
    assert pages.asked == [{}, {"cursor": "1"}, {"cursor": "2"}]


def test_list_when_a_cursor_comes_again_keeps_what_there_is_and_warns() -> None:
    pages = Pages(page("a", cursor="1"), page("b", cursor="1"))

    offer = asyncio.run(list_tools("s", pages))

    assert [tool.tool for tool in offer.tools] == ["a", "b"]
    assert offer.warnings == ("Its list of tools does not end; it was cut after 2 pages.",)


def test_list_when_every_cursor_is_new_ends_at_the_limit() -> None:
    asked = 0

    async def endless(_method: str, _params: Mapping[str, Any]) -> dict[str, Any]:
        nonlocal asked
        asked += 1
        return page(f"t{asked}", cursor=str(asked))

    offer = asyncio.run(list_tools("s", endless))

    assert len(offer.tools) == MAX_PAGES + 1
    assert len(offer.warnings) == 1


@pytest.mark.parametrize("answer", [{}, {"tools": None}, {"tools": "x"}], ids=repr)
def test_list_when_it_is_no_list_is_empty(answer: dict[str, Any]) -> None:
    assert asyncio.run(list_tools("s", Pages(answer))).tools == ()


def test_list_when_the_server_knows_no_tools_is_empty() -> None:
    async def unknown(_method: str, _params: Mapping[str, Any]) -> dict[str, Any]:
        raise Refusal("Method not found", code=-32601)

    assert asyncio.run(list_tools("s", unknown)).tools == ()


def test_list_when_the_server_refuses_otherwise_says_so() -> None:
    async def refusing(_method: str, _params: Mapping[str, Any]) -> dict[str, Any]:
        raise Refusal("no", code=-32000)

    with pytest.raises(Refusal):
        asyncio.run(list_tools("s", refusing))

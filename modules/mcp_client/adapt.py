"""What a server lists, turned into tools a model may be told of.

1. A tool that can't be offered is left out with a warning; the others are not touched by it.
2. Of two tools of one name the first stands.
3. A description is cut to what every provider takes; a tool without one gets a plain sentence.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from modules.mcp_client.names import public_name
from modules.mcp_client.plain_text import one_line, shortened, without_surrogates
from modules.mcp_client.schema import UnusableSchema, provider_schema
from modules.mcp_client.values import McpTool
from modules.records.record import Record

MAX_DESCRIPTION_CHARACTERS = 1024


class Offer(Record):
    """A server's tools, and what had to be left out of them."""

    tools: tuple[McpTool, ...] = ()
    warnings: tuple[str, ...] = ()


def adapt_tools(server: str, listed: Iterable[object]) -> Offer:
    """Returns the tools of one server's whole list, in its order."""
    tools: dict[str, McpTool] = {}
    warnings: list[str] = []
    for raw in listed:
        name = raw.get("name") if isinstance(raw, dict) else None
        if not isinstance(raw, dict) or not isinstance(name, str) or not name:
            warnings.append("A tool without a name was left out.")
        elif name in tools:
            warnings.append(f"Of two tools named {shortened(name, 80)!r} the second was left out.")
        else:
            try:
                tools[name] = _adapt(server, name, raw)
            except UnusableSchema as fault:
                warnings.append(f"The tool {shortened(name, 80)!r} was left out: {fault}.")
    return Offer(tools=tuple(tools.values()), warnings=tuple(warnings))


def _adapt(server: str, name: str, raw: Mapping[str, Any]) -> McpTool:
    notes = raw.get("annotations")
    notes = notes if isinstance(notes, dict) else {}
    return McpTool(
        name=public_name(server, name),
        description=_description(server, name, (raw.get("description"), raw.get("title"))),
        input_schema=provider_schema(raw.get("inputSchema")),
        server=server,
        tool=name,
        is_read_only=notes.get("readOnlyHint") is True,
    )


def _description(server: str, name: str, said: Iterable[object]) -> str:
    for text in said:
        if isinstance(text, str) and text.strip():
            return shortened(without_surrogates(text.strip()), MAX_DESCRIPTION_CHARACTERS)
    return f"The tool {one_line(name, 80)!r} of the MCP server {one_line(server, 80)!r}."

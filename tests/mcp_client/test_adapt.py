from modules.mcp_client.adapt import MAX_DESCRIPTION_CHARACTERS, Offer, adapt_tools
from modules.mcp_client.values import McpTool

EMPTY = {"type": "object", "properties": {}}


def test_tools_when_one_can_not_be_offered_leave_it_out_with_a_warning() -> None:
    listed = [
        {"name": "bad", "inputSchema": {"type": "string"}},
        {"name": "good", "description": "Good.", "annotations": {"readOnlyHint": True}},
        {"name": "good", "description": "Another."},
        {"description": "nameless"},
        "not a tool",
    ]

    assert adapt_tools("s", listed) == Offer(
        tools=(
            McpTool(
                name="mcp__s__good",
                description="Good.",
                input_schema=EMPTY,
                server="s",
                tool="good",
                is_read_only=True,
            ),
        ),
        warnings=(
            "The tool 'bad' was left out: its input is of type 'string', not an object.",
            "Of two tools named 'good' the second was left out.",
            "A tool without a name was left out.",
            "A tool without a name was left out.",
        ),
    )


def test_read_only_hint_when_it_is_not_plainly_true_is_not_believed() -> None:
    hints = ["true", 1, None, {}]
    listed = [{"name": f"t{n}", "annotations": {"readOnlyHint": h}} for n, h in enumerate(hints)]
    listed.append({"name": "t", "annotations": "readOnlyHint"})

    assert not any(tool.is_read_only for tool in adapt_tools("s", listed).tools)


def test_description_when_missing_or_blank_is_a_plain_sentence() -> None:
    listed = [{"name": "a"}, {"name": "b", "description": " ", "title": "Bee"}]

    assert [tool.description for tool in adapt_tools("s", listed).tools] == [
        "The tool 'a' of the MCP server 's'.",
        "Bee",
    ]


def test_description_when_long_or_malformed_is_cut_and_mended() -> None:
    listed = [{"name": "a", "description": "\ud800" + "x" * 5_000}]

    (tool,) = adapt_tools("s", listed).tools

    assert len(tool.description) == MAX_DESCRIPTION_CHARACTERS
    assert tool.description.startswith("\ufffdxxx")
    assert tool.description.endswith("x…")

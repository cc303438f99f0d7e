"""Who gets which tools."""

from typing import Any

from modules.records.decisions import Risk
from modules.records.tooling import Tool
from tools.catalog import LANE_TOOLS, LEAD_TOOLS, WORKER_TOOLS
from tools.network_command import NETWORK_TOOLS
from tools.plan import PLAN_TOOL


def test_tools_that_can_only_change_something_are_known_by_their_least_risk() -> None:
    tools: tuple[Tool[Any, Any], ...] = (
        *LANE_TOOLS,
        *LEAD_TOOLS,
        *WORKER_TOOLS,
        *NETWORK_TOOLS,
        PLAN_TOOL,
    )

    changing = {tool.name for tool in tools if tool.least_risk is not Risk.SAFE}

    assert changing == {
        "write_file",
        "edit_file",
        "multi_edit",
        "delete_file",
        "worktree_closeout",
        "bash_with_network",
    }

import re

import pytest

from modules.safety.hook_matching import Hook, HookEvent, dead_matchers, met_name

TOOLS = ("bash", "read_file", "write_file", "edit_file", "multi_edit", "grep")
OTHERS = ("mcp__srv__a", "mcp__srv2__a", "notmcp__srv__a", "notebook_edit_file")


@pytest.mark.parametrize(
    ("matcher", "met"),
    [
        ("", (*TOOLS, *OTHERS)),
        ("*", (*TOOLS, *OTHERS)),
        ("edit_file", ("edit_file",)),
        ("edit_file|write_file", ("write_file", "edit_file")),
        ("edit_file, bash", ("bash", "edit_file")),
        ("edit", ()),
        ("Edit", ("edit_file", "multi_edit")),
        ("Edit|Write", ("write_file", "edit_file", "multi_edit")),
        ("EDIT_FILE", ()),
        ("mcp__srv", ()),
        ("mcp__srv__a", ("mcp__srv__a",)),
        ("mcp__srv__.*", ("mcp__srv__a",)),
        ("mcp__.*", ("mcp__srv__a", "mcp__srv2__a")),
        (".*edit.*", ("edit_file", "multi_edit", "notebook_edit_file")),
        ("Ba.h", ("bash",)),
        ("ash$|^ba", ()),
        ("|", ()),
    ],
)
def test_matcher_meets_whole_names_only(matcher: str, met: tuple[str, ...]) -> None:
    assert tuple(tool for tool in (*TOOLS, *OTHERS) if met_name(matcher, tool)) == met


@pytest.mark.parametrize(
    ("matcher", "tool", "name"),
    [
        ("*", "bash", "bash"),
        ("bash", "bash", "bash"),
        ("Bash", "bash", "Bash"),
        ("B.*", "bash", "Bash"),
    ],
)
def test_hook_hears_of_a_tool_by_the_name_its_matcher_met(
    matcher: str, tool: str, name: str
) -> None:
    assert met_name(matcher, tool) == name


def test_bad_pattern_is_an_error() -> None:
    with pytest.raises(re.error):
        met_name("[", "bash")


def test_matcher_that_meets_no_tool_is_told_with_advice() -> None:
    def hook(matcher: str, event: HookEvent = HookEvent.PRE_TOOL_USE) -> Hook:
        return Hook(event=event, matcher=matcher, command="true", source=f"here {matcher}")

    hooks = [
        hook("bash"),
        hook("edit"),
        hook("mcp__srv"),
        hook("mcp__srv__a"),
        hook("mcp__srv__.*"),
        hook("nothing.*"),
        hook("startup", HookEvent.SESSION_START),
    ]

    assert dead_matchers(hooks, TOOLS) == [
        "here edit: the matcher 'edit' meets no tool.",
        "here mcp__srv: the matcher 'mcp__srv' meets no tool. "
        "For all tools of the server write 'mcp__srv__.*'.",
        "here nothing.*: the matcher 'nothing.*' meets no tool.",
    ]


def test_whatever_runs_a_command_line_is_met_by_bash_too() -> None:
    for tool in ("bash", "background_run", "bash_with_network"):
        assert (met_name("bash", tool), met_name("Bash", tool)) == ("bash", "Bash")
        assert met_name(".*", tool) == tool

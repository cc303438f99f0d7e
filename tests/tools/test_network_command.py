"""Tests of tools/network_command.py."""

import asyncio
from pathlib import Path
from typing import cast

import pytest

from modules.records.errors import ModelFault
from tests.tools.lanes import make_lane
from tools.crew_context import CrewContext, CrewDesk
from tools.network_command import NetworkCommand, bash_with_network

# The tool asks nothing of the crew.
NO_CREW = cast("CrewDesk", None)


def test_bash_with_network_runs_in_the_lane_that_has_it(tmp_path: Path) -> None:
    context = CrewContext(agent="w1", crew=NO_CREW, networked=make_lane(tmp_path / "lane"))

    result = asyncio.run(bash_with_network(NetworkCommand(command="pwd", reason="x"), context))

    assert (result.text, result.is_error) == (str(tmp_path / "lane"), False)


def test_bash_with_network_without_such_a_lane_is_refused() -> None:
    context = CrewContext(agent="w1", crew=NO_CREW)

    with pytest.raises(ModelFault, match="use bash"):
        asyncio.run(bash_with_network(NetworkCommand(command="pwd", reason="x"), context))

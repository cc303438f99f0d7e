"""A run of a test: the real lead in this process, its workers in processes of their own."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from modules.app.cli_options import RunOptions
from modules.app.program import WORKER_ARGV
from modules.app.run import Run
from modules.app.wiring import join_run
from tests.scenarios.programs import PASSING, make_script


def with_run(
    repository: Path,
    story: Callable[[Run], Awaitable[None]],
    *,
    script: Sequence[Mapping[str, Any]] = (),
    has_person: bool = False,
    worker_argv: tuple[str, ...] = WORKER_ARGV,
    **options: Any,
) -> None:
    """Runs a story with a run on `repository` whose crew is not at work yet."""
    spec = make_script(repository.parent, script or [{"agent": "*", "turns": [{"say": "Hm."}]}])

    async def run() -> None:
        chosen = RunOptions(model=spec, check=PASSING, **options)
        await story(join_run(repository, chosen, has_person=has_person, worker_argv=worker_argv))

    asyncio.run(run())


async def until_quiet(run: Run) -> None:
    """Returns once nothing is under way and nothing can begin."""
    while not run.is_quiet:
        await run.house.events.stirred()

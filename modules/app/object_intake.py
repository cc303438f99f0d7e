"""Keeps what a jailed worker's git sees and what git outside sees together while it works.

1. The worker's branch and index lie where everybody's git sees them, so what they name must be
   there, too. Both are written after the objects, which are taken in when one of them is.
2. When git outside packs the refs, the branches' own files go. So the jail is shown the packed refs
   anew whenever they were written.
"""

import asyncio
from collections.abc import Sequence
from pathlib import Path

from modules.app.event_bus import EventBus
from modules.git.lane_objects import show_packed_refs, take_in
from modules.git.run_git import GitFault
from modules.store.folder_watch import watching


async def keep_taking_in(
    common_dir: Path, name: str, folders: Sequence[Path], events: EventBus
) -> None:
    """Takes in what the lane `name` makes, whenever a file in `folders` or git's own was written.

    Ends by being cancelled. What goes wrong is told once, and what is left is taken in when the
    lane is next looked at.
    """
    is_due = asyncio.Event()
    is_due.set()
    told = ""
    try:
        with watching((common_dir, *folders), is_due.set):
            while True:
                await is_due.wait()
                is_due.clear()
                try:
                    await asyncio.to_thread(_look, common_dir, name)
                except (GitFault, OSError) as error:
                    if str(error) != told:
                        told = str(error)
                        events.notice(f"Objects of the lane {name} can't be taken in: {told}")
    except OSError as error:
        events.notice(
            f"The lane {name} can't be watched ({error}), so git may miss objects of its branch "
            "until its work is handed in."
        )


def _look(common_dir: Path, name: str) -> None:
    show_packed_refs(common_dir)
    take_in(common_dir, name)

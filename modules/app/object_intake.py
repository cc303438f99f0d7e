"""Takes a jailed worker's objects into the repository while it works.

Its branch and its index lie where everybody's git sees them, so what they name must be there, too.
Both are written after the objects, which are taken in when one of them is.
"""

import asyncio
from collections.abc import Sequence
from pathlib import Path

from modules.app.event_bus import EventBus
from modules.git.lane_objects import take_in
from modules.git.run_git import GitFault
from modules.store.folder_watch import watching


async def keep_taking_in(
    common_dir: Path, name: str, folders: Sequence[Path], events: EventBus
) -> None:
    """Takes in what the lane `name` makes, whenever a file in `folders` was written.

    Ends by being cancelled. What goes wrong is told once, and what is left is taken in when the
    lane is next looked at.
    """
    is_due = asyncio.Event()
    is_due.set()
    told = ""
    try:
        with watching(folders, is_due.set):
            while True:
                await is_due.wait()
                is_due.clear()
                try:
                    await asyncio.to_thread(take_in, common_dir, name)
                except GitFault as error:
                    if str(error) != told:
                        told = str(error)
                        events.notice(f"Objects of the lane {name} can't be taken in: {told}")
    except OSError as error:
        events.notice(
            f"The lane {name} can't be watched ({error}), so git may miss objects of its branch "
            "until its work is handed in."
        )

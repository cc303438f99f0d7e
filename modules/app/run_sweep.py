"""What a run puts right before it begins, and leaves when it ends."""

from modules.app.opening import Opened, now
from modules.context.spill import sweep_spills
from modules.git.check_tree import remove_check_trees
from modules.git.lane_objects import drop_left_over
from modules.git.lane_sweep import sweep_lanes
from modules.git.lock_sweep import sweep_locks
from modules.git.merging import sweep_cells
from modules.git.salvage import sweep_index_copies
from modules.git.spare_trees import remove_spares
from modules.git.state import save_state
from modules.store.files import sweep_unfinished
from modules.team.check import end_left_over_setups


def sweep_run(opened: Opened) -> list[str]:
    """Puts right what a dead lead left and deletes spilled output nobody needs any more."""
    paths = opened.paths
    end_left_over_setups(paths.lanes)
    sweep_spills(paths.outputs, now=now())
    sweep_index_copies(opened.repository)
    sweep_cells(opened.repository)
    remove_spares(opened.repository)
    # Only the lead writes these.
    sweep_unfinished(paths.team, paths.crew.name)
    sweep_unfinished(paths.results)
    sweep_unfinished(paths.checks)
    lines = sweep_lanes(opened.repository, now=now())
    return [*lines, *sweep_locks(opened.repository, now=now())]


def tidy_run(opened: Opened) -> None:
    """Leaves a run's end state: the journals kept once more, what lanes left gone."""
    save_state(opened.repository, when=now())
    remove_check_trees(opened.repository)
    drop_left_over(opened.repository.common_dir)
    remove_spares(opened.repository)

"""Tests of modules/store/scratch.py."""

import os
import signal
from pathlib import Path

from modules.store.scratch import scratch_folder, sweep_scratch
from tests.processes import start_python

HOLDER = """
    import sys
    from pathlib import Path
    from modules.store.scratch import scratch_folder

    with scratch_folder(Path(sys.argv[1]), "cell-") as folder:
        (folder / "sub").mkdir()
        print(folder, flush=True)
        sys.stdin.readline()
"""


def test_scratch_folder_is_new_and_gone_at_the_end(tmp_path: Path) -> None:
    with scratch_folder(tmp_path / "made", "cell-") as folder:
        (folder / "file").write_text("x")
        assert folder.parent == tmp_path / "made"

    assert list((tmp_path / "made").iterdir()) == []


def test_sweep_takes_the_folder_of_a_killed_process_and_none_that_is_in_use(tmp_path: Path) -> None:
    others = [tmp_path / "cell", tmp_path / "other-1"]
    for other in others:
        other.mkdir()
    (tmp_path / "cell-file").write_text("x")
    (tmp_path / "cell-link").symlink_to(tmp_path / "other-1")
    kept = {path.name for path in tmp_path.iterdir()}
    with start_python(HOLDER, tmp_path) as holder:
        assert holder.stdout is not None
        folder = Path(holder.stdout.readline().strip())

        sweep_scratch(tmp_path, "cell-")
        assert (folder / "sub").is_dir()
        os.kill(holder.pid, signal.SIGKILL)
        holder.wait()
        assert folder.is_dir()
        sweep_scratch(tmp_path, "cell-")

    assert {path.name for path in tmp_path.iterdir()} == kept


def test_sweep_of_a_folder_that_is_not_there_does_nothing(tmp_path: Path) -> None:
    sweep_scratch(tmp_path / "missing", "cell-")

    assert list(tmp_path.iterdir()) == []

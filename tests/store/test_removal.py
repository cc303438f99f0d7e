"""Folders go whole, whatever is in them and however they were closed."""

import os
import shutil
from pathlib import Path

import pytest

from modules.store.removal import remove_tree


def test_closed_folders_go_and_what_links_lead_to_stays(tmp_path: Path) -> None:
    folder, outside = tmp_path / "folder", tmp_path / "outside"
    (folder / "a/b").mkdir(parents=True)
    outside.mkdir()
    (outside / "kept").write_text("x")
    for name in ("a/b/file", "a/file"):
        (folder / name).write_text("x")
    (folder / "a/link").symlink_to(outside)
    os.mkfifo(folder / "a/pipe")
    for name in ("a/b", "a", "."):
        (folder / name).chmod(0)

    remove_tree(folder)

    assert not folder.exists()
    assert (outside / "kept").exists()


@pytest.mark.parametrize("kind", ["file", "link", "nothing"])
def test_what_is_no_folder_goes_too(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "path"
    if kind == "file":
        path.write_text("x")
    elif kind == "link":
        path.symlink_to(tmp_path)

    remove_tree(path)

    assert not os.path.lexists(path)
    assert tmp_path.is_dir()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["d", "d" * 200], ids=["deeper than the stack", "long paths"])
def test_folders_deep_in_one_another_go(tmp_path: Path, name: str) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "0").write_text("a name that is wanted for what is moved up")
    inner = os.open(folder, os.O_RDONLY)
    for _ in range(1_200):
        os.mkdir(name, dir_fd=inner)
        outer, inner = inner, os.open(name, os.O_RDONLY, dir_fd=inner)
        os.close(outer)
    os.close(inner)
    with pytest.raises((RecursionError, OSError)):
        shutil.rmtree(folder)

    remove_tree(folder)

    assert not folder.exists()

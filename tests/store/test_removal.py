"""Folders go whole, whatever is in them and however they were closed."""

import os
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

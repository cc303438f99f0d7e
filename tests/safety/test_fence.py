"""Every refusal is shown with the same access done by plain `open` first, which goes through."""

import contextlib
import ctypes
import os
import stat
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from modules.records.errors import ModelFault
from modules.safety.fence import (
    Fence,
    FileKind,
    FolderEntry,
    read_outside,
)

LIMIT = 1_000_000
RENAME_EXCHANGE = 2
AT_FDCWD = -100


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "root"
    folder.mkdir()
    return folder


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    folder = tmp_path / "outside"
    folder.mkdir()
    return folder


@pytest.fixture
def fence(root: Path) -> Fence:
    return Fence(root)


def names_in(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def test_write_to_new_folders_makes_them_and_leaves_nothing_else(fence: Fence, root: Path) -> None:
    fence.write_bytes("a/b/c.txt", b"one")

    assert (root / "a/b/c.txt").read_bytes() == b"one"
    assert names_in(root) == ["a", "a/b", "a/b/c.txt"]


def test_read_after_write_returns_the_same_bytes(fence: Fence) -> None:
    data = bytes(range(256)) * 10

    fence.write_bytes("x.bin", data)

    assert fence.read_bytes("x.bin", limit_bytes=LIMIT) == data


def test_absolute_path_below_the_root_is_taken(fence: Fence, root: Path) -> None:
    fence.write_bytes(str(root / "a.txt"), b"one")

    assert fence.read_bytes(root / "a.txt", limit_bytes=LIMIT) == b"one"


def test_root_behind_a_link_is_known_by_both_names(tmp_path: Path, root: Path) -> None:
    (tmp_path / "alias").symlink_to(root)
    fence = Fence(tmp_path / "alias")

    fence.write_bytes(tmp_path / "alias" / "a.txt", b"one")
    fence.write_bytes(root / "b.txt", b"two")

    assert names_in(root) == ["a.txt", "b.txt"]


def test_path_with_inner_dots_is_the_place_it_names(fence: Fence, root: Path) -> None:
    fence.write_bytes("./a/../b.txt", b"one")

    assert names_in(root) == ["b.txt"]


@pytest.mark.parametrize("path", ["../outside/x", "a/../../outside/x", ".."])
def test_path_with_dots_that_leaves_the_root_is_refused(
    fence: Fence, root: Path, outside: Path, path: str
) -> None:
    (root / "a").mkdir()
    (root / "../outside/plain").resolve().write_bytes(b"goes through")

    with pytest.raises(ModelFault, match="leads outside"):
        fence.write_bytes(path, b"x")

    assert names_in(outside) == ["plain"]


def test_absolute_path_outside_is_refused(fence: Fence, outside: Path, root: Path) -> None:
    for path in (outside / "x", Path(f"{root}2") / "x", Path("/etc/hostname")):
        with pytest.raises(ModelFault, match="leads outside"):
            fence.write_bytes(path, b"x")
        with pytest.raises(ModelFault, match="leads outside"):
            fence.read_bytes(path, limit_bytes=LIMIT)


@pytest.mark.parametrize(
    "path",
    [
        "",
        "a\0b",
        "a\nb",
        "\x1b[31m",
        "~/x",
        "~root/x",
        "$HOME/x",
        "file:///etc/passwd",
        "C:\\x",
        "\\\\host\\share",
        "n" * 256,
        "\ud800",
    ],
)
def test_malformed_path_is_refused_and_nothing_made(fence: Fence, root: Path, path: str) -> None:
    with pytest.raises(ModelFault):
        fence.write_bytes(path, b"x")
    with pytest.raises(ModelFault):
        fence.read_bytes(path, limit_bytes=LIMIT)

    assert names_in(root) == []


def test_write_to_name_with_invisible_characters_is_refused_reading_is_not(
    fence: Fence, root: Path
) -> None:
    (root / "a\u200db").write_bytes(b"there already")

    with pytest.raises(ModelFault, match="invisible"):
        fence.write_bytes("\u202etxt.exe", b"x")

    assert fence.read_bytes("a\u200db", limit_bytes=LIMIT) == b"there already"
    assert names_in(root) == ["a\u200db"]


# -- links (EDT-04) --


def test_write_through_link_changes_the_target_and_keeps_the_link(fence: Fence, root: Path) -> None:
    (root / "docs").mkdir()
    (root / "docs/real.md").write_bytes(b"old")
    (root / "link.md").symlink_to("docs/real.md")

    fence.write_bytes("link.md", b"new")

    assert (root / "link.md").readlink() == Path("docs/real.md")
    assert (root / "docs/real.md").read_bytes() == b"new"


def test_write_through_chain_of_links_changes_the_last_target(fence: Fence, root: Path) -> None:
    (root / "d").mkdir()
    (root / "d/real").write_bytes(b"old")
    (root / "d/one").symlink_to("real")
    (root / "two").symlink_to(root / "d/one")
    (root / "e").symlink_to("d/../d")
    (root / "three").symlink_to("e/../two")

    fence.write_bytes("three", b"new")

    assert (root / "d/real").read_bytes() == b"new"
    assert all((root / name).is_symlink() for name in ("d/one", "two", "three", "e"))


def test_write_below_linked_folder_lands_in_the_target(fence: Fence, root: Path) -> None:
    (root / "real").mkdir()
    (root / "alias").symlink_to("real")

    fence.write_bytes("alias/new/x", b"one")

    assert (root / "real/new/x").read_bytes() == b"one"


def test_dangling_link_inside_is_written_through(fence: Fence, root: Path) -> None:
    (root / "link").symlink_to("later/file")

    fence.write_bytes("link", b"one")

    assert (root / "link").is_symlink()
    assert (root / "later/file").read_bytes() == b"one"


@pytest.mark.timeout(10)
def test_cycle_of_links_is_a_plain_refusal(fence: Fence, root: Path) -> None:
    (root / "a").symlink_to("b")
    (root / "b").symlink_to("a")
    (root / "self").symlink_to("self/x")

    for path in ("a", "a/x", "self"):
        with pytest.raises(ModelFault, match="circle"):
            fence.write_bytes(path, b"x")
        with pytest.raises(ModelFault, match="circle"):
            fence.read_bytes(path, limit_bytes=LIMIT)


@pytest.mark.parametrize(
    "target", ["../outside/file", "{outside}/file", "../root/../outside/file", "../outside/new"]
)
def test_link_that_leaves_the_root_is_refused_where_open_follows_it(
    fence: Fence, root: Path, outside: Path, target: str
) -> None:
    (outside / "file").write_bytes(b"precious")
    (root / "link").symlink_to(target.format(outside=outside))
    with (root / "link").open("ab") as plain:
        plain.write(b"!")
    before = {path: path.read_bytes() for path in outside.iterdir()}

    with pytest.raises(ModelFault, match="leads outside"):
        fence.write_bytes("link", b"x")
    with pytest.raises(ModelFault, match="leads outside"):
        fence.read_bytes("link", limit_bytes=LIMIT)

    assert before
    assert {path: path.read_bytes() for path in outside.iterdir()} == before


def test_folder_link_that_leaves_the_root_is_refused(
    fence: Fence, root: Path, outside: Path
) -> None:
    (root / "alias").symlink_to(outside)
    (root / "alias/plain").write_bytes(b"goes through")

    for act in (
        lambda: fence.write_bytes("alias/x", b"x"),
        lambda: fence.write_bytes("alias/new/x", b"x"),
        lambda: fence.delete("alias/plain"),
        lambda: fence.list_folder("alias"),
        lambda: fence.stat("alias/plain"),
    ):
        with pytest.raises(ModelFault, match="leads outside"):
            act()

    assert names_in(outside) == ["plain"]


def test_delete_of_link_removes_the_link_alone(fence: Fence, root: Path, outside: Path) -> None:
    (outside / "file").write_bytes(b"kept")
    (root / "link").symlink_to(outside / "file")

    fence.delete("link")

    assert names_in(root) == []
    assert (outside / "file").read_bytes() == b"kept"


# -- what may not be written --


def test_hard_linked_file_is_refused_where_open_writes_the_other_name(
    fence: Fence, root: Path, outside: Path
) -> None:
    (outside / "file").write_bytes(b"old")
    (root / "hard").hardlink_to(outside / "file")
    (root / "hard").write_bytes(b"written outside")
    assert (outside / "file").read_bytes() == b"written outside"

    with pytest.raises(ModelFault, match="hard link"):
        fence.write_bytes("hard", b"x")

    assert (root / "hard").read_bytes() == b"written outside"


@pytest.mark.parametrize(
    "path",
    [
        ".git/hooks/pre-commit",
        ".git",
        ".GIT/config",
        "sub/.git/config",
        "sub/.git",
        ".git./x",
        "git~1/config",
        ".team/board.jsonl",
        ".Team/x",
        ".worktrees/other/file",
        "a/../.git/config",
        ".g\u0131t/../.git/config",
    ],
)
def test_protected_name_is_refused_for_writing_and_deleting(
    fence: Fence, root: Path, path: str
) -> None:
    for name in (".git/hooks", ".team", ".worktrees/other", "sub"):
        (root / name).mkdir(parents=True)
    (root / ".git/config").write_bytes(b"[core]")
    before = names_in(root)

    with pytest.raises(ModelFault):
        fence.write_bytes(path, b"x")
    with pytest.raises(ModelFault):
        fence.delete(path)

    assert names_in(root) == before
    assert (root / ".git/config").read_bytes() == b"[core]"


def test_link_into_protected_folder_is_refused(fence: Fence, root: Path) -> None:
    (root / ".git/hooks").mkdir(parents=True)
    (root / "docs").symlink_to(".git/hooks")
    (root / "config").symlink_to(".git/config")

    for path in ("docs/pre-commit", "docs/new/x", "config"):
        with pytest.raises(ModelFault, match="no tool may change"):
            fence.write_bytes(path, b"x")

    assert names_in(root / ".git") == ["hooks"]


def test_protected_folder_may_be_read(fence: Fence, root: Path) -> None:
    (root / ".git").mkdir()
    (root / ".git/HEAD").write_bytes(b"ref: refs/heads/main\n")

    assert fence.read_bytes(".git/HEAD", limit_bytes=LIMIT) == b"ref: refs/heads/main\n"


@pytest.mark.timeout(10)
def test_pipe_and_device_and_folder_are_refused(fence: Fence, root: Path) -> None:
    os.mkfifo(root / "pipe")
    (root / "folder").mkdir()

    for path in ("pipe", "folder", "."):
        with pytest.raises(ModelFault, match=r"is not a regular file|is a folder"):
            fence.read_bytes(path, limit_bytes=LIMIT)
        with pytest.raises(ModelFault, match=r"is not a regular file|is a folder"):
            fence.write_bytes(path, b"x")
    with pytest.raises(ModelFault, match="is a folder"):
        fence.delete("folder")

    assert names_in(root) == ["folder", "pipe"]


def test_file_larger_than_the_limit_is_refused_with_its_size(fence: Fence, root: Path) -> None:
    (root / "big").write_bytes(b"x" * 1001)
    (root / "fits").write_bytes(b"x" * 1000)

    with pytest.raises(ModelFault, match="1001 bytes, more than the 1000"):
        fence.read_bytes("big", limit_bytes=1000)

    assert len(fence.read_bytes("fits", limit_bytes=1000)) == 1000


@pytest.mark.parametrize("path", ["missing", "missing/deeper", "file/below"])
def test_missing_file_is_a_sentence(fence: Fence, root: Path, path: str) -> None:
    (root / "file").write_bytes(b"")

    with pytest.raises(ModelFault, match=r"does not exist|is not a folder"):
        fence.read_bytes(path, limit_bytes=LIMIT)

    assert fence.stat(path) is None


def test_stale_write_is_refused(fence: Fence, root: Path) -> None:
    (root / "a.txt").write_bytes(b"one")
    seen = fence.read("a.txt", limit_bytes=LIMIT)
    (root / "a.txt").write_bytes(b"two, by somebody else")

    with pytest.raises(ModelFault, match="has changed since it was read"):
        fence.write_bytes("a.txt", b"three", expected=seen.stat)
    fence.delete("a.txt")
    with pytest.raises(ModelFault, match="is gone since it was read"):
        fence.write_bytes("a.txt", b"three", expected=seen.stat)

    assert names_in(root) == []


def test_write_of_what_was_read_goes_through(fence: Fence, root: Path) -> None:
    (root / "a.txt").write_bytes(b"one")
    seen = fence.read("a.txt", limit_bytes=LIMIT)

    fence.write_bytes("a.txt", b"two", expected=seen.stat)

    assert (root / "a.txt").read_bytes() == b"two"


# -- modes (EDT-03) --


@pytest.mark.parametrize("mode", [0o755, 0o600, 0o444, 0o664])
def test_write_keeps_the_mode(fence: Fence, root: Path, mode: int) -> None:
    (root / "run.sh").write_bytes(b"old")
    (root / "run.sh").chmod(mode)

    fence.write_bytes("run.sh", b"new")

    assert stat.S_IMODE((root / "run.sh").stat().st_mode) == mode
    assert (root / "run.sh").read_bytes() == b"new"


def test_new_file_follows_the_umask(fence: Fence, root: Path) -> None:
    old = os.umask(0o027)
    try:
        fence.write_bytes("new/file", b"x")
    finally:
        os.umask(old)

    assert stat.S_IMODE((root / "new/file").stat().st_mode) == 0o640
    assert stat.S_IMODE((root / "new").stat().st_mode) == 0o750


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder to another group")
def test_setgid_folder_and_foreign_owner_are_kept(fence: Fence, root: Path) -> None:
    (root / "shared").mkdir()
    os.chown(root / "shared", -1, 12345)
    (root / "shared").chmod(0o2775)
    (root / "shared/theirs").write_bytes(b"old")
    os.chown(root / "shared/theirs", 2345, 6789)

    fence.write_bytes("shared/new", b"x")
    fence.write_bytes("shared/theirs", b"new")

    assert (root / "shared/new").stat().st_gid == 12345
    theirs = (root / "shared/theirs").stat()
    assert (theirs.st_uid, theirs.st_gid) == (2345, 6789)


def test_failed_write_leaves_the_old_file_and_no_temporary_one(fence: Fence, root: Path) -> None:
    resource = pytest.importorskip("resource")
    signal = pytest.importorskip("signal")
    (root / "a").write_bytes(b"old")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, limits[1]))
    try:
        with pytest.raises(ModelFault, match="could not be accessed"):
            fence.write_bytes("a", b"x" * 5000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, handler)

    assert names_in(root) == ["a"]
    assert (root / "a").read_bytes() == b"old"


def test_list_folder_tells_kinds_and_sorts(fence: Fence, root: Path) -> None:
    (root / "b").mkdir()
    (root / "a").write_bytes(b"")
    (root / "c").symlink_to("/etc")
    os.mkfifo(root / "d")

    entries = fence.list_folder()

    assert entries == (
        FolderEntry("a", FileKind.FILE),
        FolderEntry("b", FileKind.FOLDER),
        FolderEntry("c", FileKind.LINK),
        FolderEntry("d", FileKind.OTHER),
    )


def test_no_descriptor_stays_open(fence: Fence, root: Path) -> None:
    (root / "loop").symlink_to("loop")
    before = len(list(Path("/dev/fd").iterdir()))

    for _ in range(20):
        fence.write_bytes("a/b", b"x")
        fence.read_bytes("a/b", limit_bytes=LIMIT)
        fence.list_folder("a")
        with pytest.raises(ModelFault):
            fence.read_bytes("loop/x", limit_bytes=LIMIT)

    assert len(list(Path("/dev/fd").iterdir())) == before


# -- reading outside --


def test_read_outside_returns_a_regular_file(outside: Path) -> None:
    (outside / "file").write_bytes(b"one")

    assert read_outside(outside.resolve() / "file", limit_bytes=LIMIT).data == b"one"


@pytest.mark.timeout(10)
def test_read_outside_refuses_whatever_is_no_plain_file(outside: Path) -> None:
    (outside / "file").write_bytes(b"one")
    (outside / "link").symlink_to("file")
    (outside / "folder").mkdir()
    os.mkfifo(outside / "pipe")
    base = outside.resolve()

    for path in (
        base / "link",
        base / "folder",
        base / "pipe",
        base / "missing",
        base / "folder/../file",
        Path("relative"),
        Path("/dev/zero"),
        Path("/proc/self/environ"),
    ):
        with pytest.raises(ModelFault):
            read_outside(path, limit_bytes=LIMIT)


# -- the race --


def swap(one: Path, other: Path) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    done = libc.renameat2(AT_FDCWD, os.fsencode(one), AT_FDCWD, os.fsencode(other), RENAME_EXCHANGE)
    if done != 0:
        raise OSError(ctypes.get_errno(), "renameat2")


class Swapper:
    """Swaps a folder with a link to the outside as fast as it can, in a thread."""

    def __init__(self, folder: Path, link: Path) -> None:
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._swap, args=(folder, link))

    def __enter__(self) -> "Swapper":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def _swap(self, folder: Path, link: Path) -> None:
        while not self._ended.is_set():
            swap(folder, link)


def write_checked_by_realpath(root: Path, path: str) -> None:
    with contextlib.suppress(OSError):  # realpath itself can stumble over the swap
        if (root / path).resolve().is_relative_to(root):
            (root / path).write_bytes(b"x")


def read_checked_by_realpath(root: Path, path: str) -> bytes:
    with contextlib.suppress(OSError):  # as above
        if (root / path).resolve().is_relative_to(root):
            return (root / path).read_bytes()
    return b""


def happens(event: Callable[[], bool], *, most_tries: int) -> bool:
    return any(event() for _ in range(most_tries))


@pytest.mark.slow
def test_write_to_folder_swapped_for_a_link_never_leads_outside(
    fence: Fence, root: Path, outside: Path
) -> None:
    (root / "d").mkdir()
    (root / "other").symlink_to(outside)
    trap = outside / "file"

    def escapes_unguarded() -> bool:
        write_checked_by_realpath(root, "d/file")
        return trap.exists()

    def escapes_the_fence() -> bool:
        with contextlib.suppress(ModelFault):  # the link was seen as one: a refusal is right
            fence.write_bytes("d/file", b"x")
        return trap.exists()

    with Swapper(root / "d", root / "other"):
        has_escaped_unguarded = happens(escapes_unguarded, most_tries=200_000)
        trap.unlink()
        has_escaped = happens(escapes_the_fence, most_tries=1_000)

    assert has_escaped_unguarded
    assert not has_escaped


@pytest.mark.slow
def test_read_from_folder_swapped_for_a_link_never_sees_outside(
    fence: Fence, root: Path, outside: Path
) -> None:
    (root / "d").mkdir()
    (root / "d/file").write_bytes(b"inside")
    (outside / "file").write_bytes(b"secret")
    (root / "other").symlink_to(outside)
    seen: set[bytes] = set()

    def sees_secret() -> bool:
        with contextlib.suppress(ModelFault):  # as above
            seen.add(fence.read_bytes("d/file", limit_bytes=LIMIT))
        return b"secret" in seen

    with Swapper(root / "d", root / "other"):
        has_escaped_unguarded = happens(
            lambda: read_checked_by_realpath(root, "d/file") == b"secret", most_tries=200_000
        )
        happens(sees_secret, most_tries=3_000)

    assert has_escaped_unguarded
    assert seen == {b"inside"}

"""What must be there before a jail is entered: its own folders, and what git can't make inside.

1. The jail has a private home with git's settings in it: who commits, and that git trusts folders
   of other owners, for the jail itself keeps git in.
2. Folders of refs and logs that the jail lays are made, an empty `config.worktree` too, so that
   nobody inside can put one there. Where nothing can be laid, branches have no logs.
   bubblewrap's jail gets a folder of objects of its own, which names the repository's as its other,
   and a copy of the packed refs. An empty folder beside the branches keeps git outside from
   removing their folder, which is the jail's until it ends, when it packs them all.
3. Landlock gives folders away whole. `objects` would bring the packs with it, so its 256 parts are
   made and given one by one.
4. Landlock and Seatbelt give no new file beside `packed-refs`, so git can't lock it. git works all
   the same but leaves a mark behind, which a small program before git on the PATH takes away.
"""

import contextlib
import os
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

from modules.safety.jail import (
    BRANCH_LOGS,
    GitGround,
    JailSpec,
    SandboxKind,
    private_home,
    private_programs,
)
from modules.store.files import write_atomically
from modules.store.mirror import mirror

_GIT_UNDER_LANDLOCK = """\
#!/bin/sh
# Under Landlock git can't lock packed-refs, says so, and leaves the mark of a commit it has picked
# though all is done; the next merge would refuse. This takes the mark away.
programs={programs} folder={folder} admin={admin}
PATH=${{PATH#"$programs:"}}
git "$@"
code=$?
case "$code $PWD/" in "0 $folder/"*) ;; *) exit $code ;; esac
while [ "$1" = -c ]; do shift 2; done
case "$*" in
cherry-pick* | revert* | rebase* | commit* | am* | reset*--hard* | reset*--merge* | reset*--keep*)
  rm -f "$admin/CHERRY_PICK_HEAD" "$admin/REVERT_HEAD" ;;
esac
exit $code
"""


_STAYS = "_stays"
_WITHOUT_LOGS = (SandboxKind.LANDLOCK, SandboxKind.SEATBELT)


class Person(Protocol):
    """Whose name commits carry."""

    @property
    def name(self) -> str: ...

    @property
    def email(self) -> str: ...


def prepare_jail(spec: JailSpec, kind: SandboxKind, *, person: Person) -> None:
    """Makes what the jail needs; does no harm where it is there already."""
    spec = spec.resolved()
    for folder in (private_home(spec.temporary), private_programs(spec.temporary)):
        _make_real_folder(folder)
    settings = {"user": {"name": person.name, "email": person.email}, "safe": {"directory": "*"}}
    write_atomically(private_home(spec.temporary) / ".gitconfig", _as_git_config(settings))
    if spec.git is not None:
        _prepare_git(spec, spec.git, kind)


def branch_folder(git: GitGround) -> Path:
    """Returns the folder of the refs that can be moved."""
    return git.common_dir / git.branch_folder


def object_folders(git: GitGround) -> tuple[Path, ...]:
    """Returns the folders of loose objects."""
    return tuple(git.common_dir / "objects" / f"{number:02x}" for number in range(256))


def _prepare_git(spec: JailSpec, git: GitGround, kind: SandboxKind) -> None:
    for name in (f"{git.branch_folder}/{_STAYS}", BRANCH_LOGS):
        (git.common_dir / name).mkdir(parents=True, exist_ok=True)
    with contextlib.suppress(FileExistsError):  # a link counts as there, too
        (git.admin_dir / "config.worktree").open("x").close()
    if kind is SandboxKind.BWRAP:
        for folder in (git.own_objects / "pack", git.own_objects / "info"):
            folder.mkdir(parents=True, exist_ok=True)
        mirror(git.common_dir / "packed-refs", git.seen_packed_refs)
        alternates = git.own_objects / "info" / "alternates"
        alternates.write_bytes(os.fsencode(git.seen_objects) + b"\n")
    if kind not in _WITHOUT_LOGS:
        return
    # git goes on with a log that is there, and may not write to it.
    (git.common_dir / "logs" / git.branch_ref).unlink(missing_ok=True)
    for folder in object_folders(git):
        folder.mkdir(exist_ok=True)
    programs = private_programs(spec.temporary)
    paths = {"programs": programs, "folder": spec.folder, "admin": git.admin_dir}
    words = {name: shlex.quote(str(path)) for name, path in paths.items()}
    write_atomically(programs / "git", _GIT_UNDER_LANDLOCK.format(**words), mode=0o755)


def _make_real_folder(folder: Path) -> None:
    # Whoever was in the jail before may have put a link here, for us to write through.
    if folder.is_symlink():
        folder.unlink()
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)


def _as_git_config(sections: Mapping[str, Mapping[str, str]]) -> str:
    lines = []
    for section, values in sections.items():
        lines.append(f"[{section}]")
        lines += [f"\t{key} = {_quoted(value)}" for key, value in values.items()]
    return "\n".join(lines) + "\n"


def _quoted(value: str) -> str:
    plain = value.replace("\n", " ").replace("\\", "\\\\").replace('"', '\\"')
    return f'"{plain}"'

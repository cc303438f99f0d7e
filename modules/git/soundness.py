"""Looks whether git itself would take the objects of a commit from a stranger.

1. All that the commit brings beside what has landed must be there. What is missing would be found
   by whoever checks it out, long after it was queued.
2. Each of these objects must be well-formed: a tree whose entries are out of order or there twice
   is shown in one way, checked out in another, and can't be merged any more once it has landed.
3. It is asked as for a push: the objects are packed, and the pack is indexed strictly. The pack is
   thrown away.
"""

from modules.git.repository import Repository
from modules.git.run_git import GitFault, GitTimedOut
from modules.store.scratch import scratch_folder

# Begins like the folders that merges are made in, so what a killed process leaves goes with them.
_THROWN_AWAY = "merge-pack-"
_SECONDS = 300.0
_STRICT = "--strict=badFilemode=error"
"""Git lets modes pass that it never writes itself, unless it is told."""


def fault_in(repository: Repository, commit: str, *, landed: str) -> str:
    """Returns what is wrong with the objects `commit` brings; empty when nothing is."""
    # Neither deltas nor compression nor a disk that has it: nobody keeps the pack.
    git = repository.git.configured(("core.fsync", "none"))
    pack = ("--revs", "-q", "--window=0", "--compression=0", "--threads=1")
    with scratch_folder(repository.paths.temporary, _THROWN_AWAY) as folder:
        try:
            name = git.run(
                *("pack-objects", *pack, str(folder / "new")),
                input=f"{commit}\n^{landed}\n".encode(),
                timeout_seconds=_SECONDS,
            ).text
            if not name:
                return ""
            index = ("-o", str(folder / "strict.idx"), str(folder / f"new-{name}.pack"))
            git.run("index-pack", _STRICT, "--threads=1", *index, timeout_seconds=_SECONDS)
        except GitTimedOut:
            raise
        except GitFault as error:
            return error.stderr.strip().partition("\n")[0] or str(error)
    return ""

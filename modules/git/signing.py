"""Signs what lands where the person's own git signs their commits.

1. Landings are signed when `commit.gpgSign` is true for the repository.
2. Which program signs is said by the person's own configuration alone: the repository's may come
   from anybody.
3. Whether it works is tried before anything is queued: a signature that needs a passphrase nobody
   is there to type, or a key that is gone, would else stop the queue in its middle.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from modules.git.run_git import Git, GitFault
from modules.records.errors import PersonFault
from modules.store.scratch import scratch_folder

_TRIAL_SECONDS = 30.0
SIGNING_SCRATCH = "signature-"
"""How the folders of trials begin."""
_REPOSITORYS_OWN = frozenset({"local", "worktree"})
_TRUE = frozenset({"true", "yes", "on", "1"})
_PROGRAMS = {
    "gpg.openpgp.program": "gpg",
    "gpg.x509.program": "gpgsm",
    "gpg.ssh.program": "ssh-keygen",
    "gpg.ssh.defaultkeycommand": "false",
}
_PASSED_ON = ("GNUPGHOME", "SSH_AUTH_SOCK", "GPG_TTY")


class GitSetting(NamedTuple):
    """One line of git's configuration."""

    scope: str
    """`system`, `global`, `local`, `worktree` …"""
    key: str
    """As git writes it: section and variable in small letters."""
    value: str

    @property
    def is_repositorys_own(self) -> bool:
        """True for what lies in the repository rather than with the person."""
        return self.scope in _REPOSITORYS_OWN


@dataclass(frozen=True, slots=True)
class Signing:
    """How the person's commits are signed."""

    overrides: tuple[tuple[str, str], ...]
    variables: Mapping[str, str]
    """What a signing program finds its keys by."""


def read_signing(settings: Sequence[GitSetting], variables: Mapping[str, str]) -> Signing | None:
    """Returns how commits are signed; None when they aren't. The last setting of a key counts."""
    wanted = [setting.value for setting in settings if setting.key == "commit.gpgsign"]
    if not wanted or wanted[-1].lower() not in _TRUE:
        return None
    programs = dict(_PROGRAMS)
    for setting in settings:
        key = "gpg.openpgp.program" if setting.key == "gpg.program" else setting.key
        if key in programs and not setting.is_repositorys_own:
            programs[key] = setting.value
    passed_on = {name: variables[name] for name in _PASSED_ON if name in variables}
    return Signing(tuple(programs.items()), passed_on)


def try_signing(git: Git, signing: Signing, *, temporary: Path) -> None:
    """Signs a commit that is thrown away; raises PersonFault when that fails. Blocks."""
    objects = git.text("rev-parse", "--path-format=absolute", "--git-path", "objects")
    with scratch_folder(temporary, SIGNING_SCRATCH) as folder:
        env = {
            **signing.variables,
            "GIT_OBJECT_DIRECTORY": str(folder),
            "GIT_ALTERNATE_OBJECT_DIRECTORIES": objects,
        }
        tree = git.run("hash-object", "-t", "tree", "-w", "--stdin", input=b"", env=env).text
        argv = ("commit-tree", "-S", "-m", "trial", tree)
        signer = git.configured(*signing.overrides)
        try:
            signer.run(*argv, env=env, timeout_seconds=_TRIAL_SECONDS)
        except GitFault as error:
            raise PersonFault(
                "Your git signs commits (commit.gpgSign), and a landing could not be signed: "
                f"{' '.join(error.stderr.split())}",
                hint=(
                    "Make `git commit -S --allow-empty` work here without a question, or do "
                    "without: git config commit.gpgSign false"
                ),
            ) from error

"""Which patterns of file names take in secrets or files that steer programs; pure."""

from fnmatch import fnmatchcase

from modules.safety.path_names import STEERING_NAMES, folded, is_secret_name

_SECRETS = (".env", ".env.local", ".netrc", ".git-credentials", "id_rsa", "id_ed25519", "a.pem")
_GUARDED = (".git", ".team", ".worktrees", *STEERING_NAMES)
_ORDINARY = ("readme.md", "src", "a", "main.py", "config", "index.js")


def glob_hits_secret(text: str) -> bool:
    """True for a path whose last pattern matches names of secrets but no ordinary ones."""
    pattern = text.rsplit("/", 1)[-1].lower()
    if not any(sign in pattern for sign in "*?["):
        return False
    hits = (name for name in _SECRETS if _matches(name, pattern))
    return any(hits) and not any(_matches(name, pattern) for name in _ORDINARY)


def names_secret(text: str) -> bool:
    """True where the last part of a path is, or takes in, a name of a secret."""
    return is_secret_name(folded(text.rsplit("/", 1)[-1])) or glob_hits_secret(text)


def guarded_names(pattern: str) -> list[str]:
    """Returns the names of protected and steering files that a pattern would match."""
    return [name for name in _GUARDED if _matches(name, pattern)]


def _matches(name: str, pattern: str) -> bool:
    return fnmatchcase(name, pattern) and (name[0] != "." or pattern[0] in ".[")

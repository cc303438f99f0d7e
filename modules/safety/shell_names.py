"""Names of shell variables: which may be set, and which hold secrets; pure.

1. Before a command only names that change how it prints may be set, to plain values.
2. On its own a name may be set when no program and no part of bash looks it up to run something.
"""

import re

_FREE = re.compile(
    r"LANG|LANGUAGE|LC_[A-Z]+|TZ|NO_COLOR|FORCE_COLOR|CLICOLOR(?:_FORCE)?|CI|TERM|COLORTERM|COLUMNS"
    r"|LINES|NODE_ENV|RAILS_ENV|RACK_ENV|APP_ENV|FLASK_ENV|DEBUG|VERBOSE|LOG_LEVEL|RUST_BACKTRACE"
    r"|RUST_LOG|PYTHONUNBUFFERED|PYTHONDONTWRITEBYTECODE|PYTHONUTF8|PYTHONIOENCODING"
    r"|PYTHONHASHSEED|GOOS|GOARCH|CGO_ENABLED|SOURCE_DATE_EPOCH|GIT_TERMINAL_PROMPT"
    r"|GIT_OPTIONAL_LOCKS|GIT_(?:AUTHOR|COMMITTER)_(?:NAME|EMAIL|DATE)"
)
_PLAIN_VALUE = re.compile(r"[\w .,:@+/%-]*")
_LOCALE = re.compile(r"LANG|LANGUAGE|LC_[A-Z]+")
_PAGER = re.compile(r"(?:[A-Z]+_)?PAGER")
_STEERING = re.compile(
    r"PATH|IFS|CDPATH|ENV|HOME|TMPDIR|SHELL|SHELLOPTS|GLOBIGNORE|PS[0-4]|TERM(?:INFO|CAP)|LOCPATH"
    r"|NLSPATH|PROMPT_COMMAND|EDITOR|VISUAL|BROWSER|MAKEFLAGS|MANOPT|POSIXLY_CORRECT|CC|CXX|LD|AR"
    r"|FPATH|INPUTRC|HISTFILE|TAR_OPTIONS|GREP_OPTIONS|ZDOTDIR|KUBECONFIG|XDG_[A-Z_]+"
    r"|(?:BASH|LD|DYLD|GIT|LESS|PYTHON|PERL|RUBY|NODE|NPM|JAVA|JDK|DOCKER|CARGO|RUST|GO|PIP|UV|SSH"
    r"|GPG|AWS|GCC|MALLOC|HTTP|HTTPS|ALL|NO)[A-Z0-9_]*|[A-Z_]*(?:PAGER|ASKPASS|_OPTIONS|OPTS|PROXY)"
)
_SECRET = re.compile(
    r"(?:[A-Z0-9_]*_)?(?:API_?KEY|ACCESS_?KEY(?:_ID)?|SECRET(?:_?KEY)?|TOKEN|PASSWORD|PASSWD"
    r"|CREDENTIALS?|PRIVATE_?KEY|SECRET_ACCESS_KEY)(?:_[A-Z0-9_]*)?"
)
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def is_free_prefix(name: str, value: str | None) -> bool:
    """True where `name=value command` runs the command as if nothing were set."""
    if value is None or not _PLAIN_VALUE.fullmatch(value):
        return False
    if _PAGER.fullmatch(name):
        return value in ("", "cat")
    if _LOCALE.fullmatch(name) and "/" in value:
        return False
    return _FREE.fullmatch(name) is not None


def is_steering_variable(name: str) -> bool:
    """True for a name that bash or programs look up to find what to run, or with which options."""
    return _STEERING.fullmatch(name) is not None


def is_plain_name(name: str) -> bool:
    """True for a name that is only a name, with no subscript to evaluate."""
    return _NAME.fullmatch(name) is not None


def is_secret_variable(name: str) -> bool:
    """True for a name that commonly holds a credential."""
    return _SECRET.fullmatch(name) is not None

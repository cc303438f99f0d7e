"""Names of files that are secret, or that change what runs; pure.

1. Secret: never read, in any mode, whatever the spelling. Templates and public keys are not.
2. Steering: files that start programs, grant permissions or instruct agents; a person is asked.
3. Names are compared folded: case, Unicode look-alikes, invisible characters, trailing dots and
   blanks make no other name.
"""

import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


def _paths(text: str) -> tuple[tuple[str, ...], ...]:
    return tuple(tuple(path.split("/")) for path in text.split())


_ENV_FILE = re.compile(r"\.env(?:[._~-].*)?")
_TEMPLATE = re.compile(r"\.env[._-](?:.*[._-])?(?:example|sample|template|dist)")
_SECRET_SUFFIXES = (".pem", ".key", ".p12", ".pfx", ".jks", ".keystore", ".kdbx", ".ppk")
_SECRET_NAMES = _names(
    ".netrc _netrc .htpasswd .git-credentials .pypirc .pgpass .vault-token mcp-auth.json"
    " id_rsa id_dsa id_ecdsa id_ecdsa_sk id_ed25519 id_ed25519_sk"
)
_SECRET_BELOW_HOME = _paths(
    ".ssh .aws .gnupg .kube .docker .config/gh .config/gcloud .config/op .azure .npmrc .team"
    " .cargo/credentials .cargo/credentials.toml .gem/credentials .terraform.d .password-store"
    " .local/share/keyrings .mozilla .config/google-chrome .config/chromium .bash_history"
    " .config/hub .config/glab-cli .config/rclone .config/doctl .terraformrc .my.cnf .vault-token"
    " .zsh_history .python_history .node_repl_history .psql_history .mysql_history"
    " .local/share/fish/fish_history .config/git/credentials .config/containers/auth.json"
    " .config/helm/registry .composer/auth.json .config/composer/auth.json .m2/settings.xml"
    " .subversion/auth .s3cfg .boto .oci .kaggle .config/sops .config/stripe .config/netlify"
    " library/keychains .claude/.credentials.json .codex/auth.json .gemini/oauth_creds.json"
)
_STEERING = _paths(
    ".claude .mcp.json .hooks.json team.toml claude.md claude.local.md agents.md gemini.md"
    " .cursor .cursorrules .windsurfrules .clinerules .github/copilot-instructions.md .codex"
    " .gemini .vscode .idea .zed .githooks .husky .devcontainer .devcontainer.json .envrc .npmrc"
    " .yarnrc .yarnrc.yml .gitmodules .gitattributes .lfsconfig .github/workflows .github/actions"
    " .gitlab-ci.yml .circleci .travis.yml azure-pipelines.yml bitbucket-pipelines.yml jenkinsfile"
    " .pre-commit-config.yaml lefthook.yml .lefthook.yml"
)
STEERING_NAMES = (
    *sorted({path[0] for path in _STEERING}),
    *("CLAUDE.md", "CLAUDE.local.md", "AGENTS.md", "GEMINI.md", "Jenkinsfile"),
)
"""First components of steering paths, in the spellings that are common."""
_SYSTEM_SECRETS = _paths(
    "etc/shadow etc/shadow- etc/gshadow etc/gshadow- etc/sudoers etc/sudoers.d etc/ssl/private"
)
_RAW_DEVICE = re.compile(
    r"k?mem|port|[hsvx]v?d[a-z]+[0-9]*|(?:nvme|mmcblk|loop|md|dm-|bcache|zram)[0-9]\w*"
    r"|mapper|disk|block|vcs\w*"
)
"""Devices that hold what files and programs hold, unguarded."""
_HOST_KEY = re.compile(r"ssh_host_.*_key")
_HARMLESS_PROCESS_FILES = _names(
    "status stat statm limits cgroup comm io mounts mountinfo mountstats schedstat sched net"
)
_PROCESS = re.compile(r"[0-9]+|self|thread-self|[0-9]*[*?\[$\0].*")


@lru_cache(maxsize=4096)
def folded(name: str) -> str:
    """Returns one path component as lenient file systems compare it."""
    if name.isascii():
        plain = name.lower()
    else:
        plain = unicodedata.normalize("NFKC", name).casefold()
        plain = "".join(c for c in plain if unicodedata.category(c) != "Cf")
    return plain.partition(":")[0].rstrip(". ") or plain


def is_secret_name(name: str) -> bool:
    """True for a folded file name that marks a secret wherever it lies."""
    if _ENV_FILE.fullmatch(name):
        return _TEMPLATE.fullmatch(name) is None
    return name in _SECRET_NAMES or name.endswith(_SECRET_SUFFIXES)


def is_secret_below_home(names: Sequence[str]) -> bool:
    """True for folded components, counted from a home folder, that lead to credentials."""
    if names and names[-1].endswith(".pub"):
        return False
    return any(tuple(names[: len(path)]) == path for path in _SECRET_BELOW_HOME)


def is_system_secret(names: Sequence[str]) -> bool:
    """True for folded components of an absolute path the system itself keeps from users."""
    if names[:1] == ["proc"]:
        return _is_process_secret(names[1:])
    if names[:1] == ["run"] or list(names[:2]) == ["var", "run"]:
        return True
    if names[:1] == ["dev"]:
        return len(names) > 1 and _RAW_DEVICE.fullmatch(names[1]) is not None
    if list(names[:2]) == ["etc", "ssh"] and _HOST_KEY.fullmatch(names[-1]):
        return True
    return any(tuple(names[: len(path)]) == path for path in _SYSTEM_SECRETS)


def _is_process_secret(names: Sequence[str]) -> bool:
    if not names or not _PROCESS.fullmatch(names[0]):
        return list(names[:1]) in (["kcore"], ["kmsg"], ["kallsyms"])
    if len(names) == 1:
        return False
    return names[1] not in _HARMLESS_PROCESS_FILES


def steering_name(names: Sequence[str]) -> str:
    """Returns the part of a path that steers programs or agents; empty where none does."""
    for start in range(len(names)):
        for path in _STEERING:
            if tuple(names[start : start + len(path)]) == path:
                return "/".join(path)
    return ""

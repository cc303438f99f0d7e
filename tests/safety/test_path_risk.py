"""Tests of modules/safety/path_risk.py."""

import os
from pathlib import Path

import pytest
from msgspec.structs import replace

from modules.records.decisions import PathOp, Risk
from modules.safety.path_risk import assess_folder, assess_path
from tests.safety.grounds import ground_on_disk, lead_ground, worker_ground

SAFE, WRITE, DANGEROUS, CRITICAL, DENY = Risk


@pytest.mark.parametrize(
    ("op", "path", "risk"),
    [
        ("write", "src/new/deep/module.py", WRITE),
        ("write", "docs/../notes.md", WRITE),
        ("write", "/repo/.worktrees/w1/a.py", WRITE),
        ("write", "package.json", WRITE),
        ("write", ".gitignore", WRITE),
        ("write", "//repo/.worktrees/w1/a.py", WRITE),
        ("write", "app/$slug.tsx", WRITE),
        ("write", "a:b.txt", WRITE),
        ("write", "http://x.org/y", DENY),
        ("write", "Jenkinsfile", CRITICAL),
        ("write", ".github/copilot-instructions.md", CRITICAL),
        ("read", "/proc/1/root/etc/hosts", DENY),
        ("read", "/etc/ssh/ssh_host_ed25519_key", DENY),
        ("read", "/etc/ssh/ssh_host_ed25519_key.pub", SAFE),
        ("read", "/etc/sudoers.d/people", DENY),
        ("read", "~/.config/rclone/rclone.conf", DENY),
        ("write", ".github/CODEOWNERS", WRITE),
        ("edit", "src/app.py", WRITE),
        ("write", "/dev/null", SAFE),
        ("delete", "src/old.py", DANGEROUS),
        ("write", "line\nbreak.py", DANGEROUS),
        ("read", "tab\tname", DANGEROUS),
        ("write", "../w2/src/app.py", DENY),
        ("write", "../../README.md", DENY),
        ("write", "/repo/.worktrees/w1-other/x", DENY),
        ("write", "/etc/cron.d/x", DENY),
        ("write", "/tmp/shared", DENY),
        ("write", "~/.profile", DENY),
        ("write", "~root/x", DENY),
        ("write", "~/.config/crewyard/trust.json", DENY),
        ("write", "sub/.git/config", DENY),
        ("write", ".Git/hooks/post-merge", DENY),
        ("write", "git~2/config", DENY),
        ("write", ".git /config", DENY),
        ("write", ".git::$INDEX_ALLOCATION", DENY),
        ("write", ".g\u200dit/config", DENY),
        ("write", ".team/mail.jsonl", DENY),
        ("write", ".TEAM/mail.jsonl", DENY),
        ("write", ".worktrees/w2/x", DENY),
        ("write", "/proc/sys/kernel/core_pattern", DENY),
        ("write", "/dev/sdb", DENY),
        ("write", "/sys/power/state", DENY),
        ("write", "$HOME/x", DENY),
        ("write", "file:///repo/x", DENY),
        ("write", "C:\\temp\\x", DENY),
        ("write", "\\\\host\\share", DENY),
        ("write", "a\0b", DENY),
        ("write", "n" * 256, DENY),
        ("write", "a/" * 2500, DENY),
        ("write", "", DENY),
        ("write", "right\u202eleft.py", DENY),
        ("write", ".env", DENY),
        ("write", "CLAUDE.md", CRITICAL),
        ("write", "packages/a/AGENTS.md", CRITICAL),
        ("write", ".Mcp.JSON", CRITICAL),
        ("write", ".hooks.json.", CRITICAL),
        ("write", "team.toml", CRITICAL),
        ("edit", ".claude/commands/x.md", CRITICAL),
        ("write", ".github/workflows/release.yml", CRITICAL),
        ("write", ".husky/pre-push", CRITICAL),
        ("write", ".githooks/pre-push", CRITICAL),
        ("read", "~/.config/git/credentials", DENY),
        ("read", "~/Library/Keychains/login.keychain-db", DENY),
        ("read", "~/.psql_history", DENY),
        ("read", "/proc/1/net/dev", SAFE),
        ("write", ".vscode/launch.json", CRITICAL),
        ("write", ".devcontainer/Dockerfile", CRITICAL),
        ("write", ".pre-commit-config.yaml", CRITICAL),
        ("write", ".envrc", CRITICAL),
        ("write", ".npmrc", CRITICAL),
        ("delete", ".gitattributes", CRITICAL),
        ("delete", ".git/index.lock", DENY),
        ("delete", ".", DENY),
        ("read", "src/app.py", SAFE),
        ("read", "/repo/src/app.py", SAFE),
        ("read", "/etc/hostname", SAFE),
        ("read", "/proc/meminfo", SAFE),
        ("read", ".env.example", SAFE),
        ("read", ".env.local.sample", SAFE),
        ("read", "keys/deploy.pub", SAFE),
        ("read", "~/.ssh/id_ed25519.pub", SAFE),
        ("read", ".npmrc", SAFE),
        ("read", ".env", DENY),
        ("read", "api/.env.staging", DENY),
        ("read", ".Env.Local", DENY),
        ("read", "tls/server.KEY", DENY),
        ("read", "a.p12", DENY),
        ("read", "deploy/id_rsa", DENY),
        ("read", ".git-credentials", DENY),
        ("read", "~/.ssh/known_hosts", DENY),
        ("read", "/home/other/.aws/config", DENY),
        ("read", "/root/.kube/config", DENY),
        ("read", "~/.npmrc", DENY),
        ("read", "~/.cargo/credentials.toml", DENY),
        ("read", "~/.config/crewyard/tokens.json", DENY),
        ("read", "/etc/shadow", DENY),
        ("read", "/proc/1/environ", DENY),
        ("read", "/proc/self/root/etc/hosts", DENY),
        ("read", "/proc/self/fd/4", DENY),
        ("read", "/dev/urandom", DENY),
        ("read", "/run/user/1000/bus", DENY),
        ("read", "/repo/.team/sessions/lead.jsonl", DENY),
        ("read", "/repo/.team/results/3-1.md", SAFE),
    ],
)
def test_assess_path_when_a_worker_names_it_then_its_risk_is(
    op: PathOp, path: str, risk: Risk
) -> None:
    found = assess_path(path, op, worker_ground())

    assert (found.risk, bool(found.why)) == (risk, risk is not SAFE)


def test_assess_path_when_the_lead_names_it_then_its_own_checkout_is_open() -> None:
    ground = lead_ground()

    risks = [
        assess_path("src/app.py", "write", ground).risk,
        assess_path(".team/sessions/lead.jsonl", "read", ground).risk,
        assess_path(".worktrees/w1/src/app.py", "write", ground).risk,
    ]

    assert risks == [WRITE, SAFE, DENY]


def test_assess_path_when_it_lies_in_the_own_temporary_folder_then_it_is_written() -> None:
    shared = worker_ground()

    own = replace(shared, tmp=Path("/tmp/w1"))

    assert assess_path("/tmp/w1/x", "write", shared).risk is DENY
    assert assess_path("/tmp/w1/x", "write", own).risk is WRITE
    assert assess_path("/tmp/w12/x", "write", own).risk is DENY


@pytest.mark.parametrize(
    ("link", "target"),
    [
        ("folder", "/etc"),
        ("file", "/etc/hosts"),
        ("dangling", "/etc/not-there"),
        ("main", "../../src"),
        ("sibling", "../w2"),
        ("unreadable", "/proc/1/root/srv"),
    ],
)
def test_assess_path_when_a_link_leaves_the_lane_then_writing_is_denied(
    tmp_path: Path, link: str, target: str
) -> None:
    ground = ground_on_disk(tmp_path)
    path = f"{link}/x" if link not in ("file", "dangling") else link
    before = assess_path(path, "write", ground)

    (ground.root / link).symlink_to(target)

    after = assess_path(path, "write", ground)
    assert (before.risk, after.risk) == (WRITE, DENY)


def test_assess_path_when_a_link_stays_inside_then_it_is_written(tmp_path: Path) -> None:
    ground = ground_on_disk(tmp_path)

    (ground.root / "inside").symlink_to("src")

    assert assess_path("inside/new.py", "write", ground).risk is WRITE


def test_assess_path_when_a_link_is_deleted_then_only_the_link_counts(tmp_path: Path) -> None:
    ground = ground_on_disk(tmp_path)

    (ground.root / "out").symlink_to("/etc/hosts")

    assert assess_path("out", "delete", ground).risk is DANGEROUS
    assert assess_path("out", "write", ground).risk is DENY


def test_assess_path_when_a_link_leads_to_secrets_then_reading_is_denied(tmp_path: Path) -> None:
    ground = ground_on_disk(tmp_path)

    (ground.root / "keys").symlink_to(ground.home / ".ssh")

    assert assess_path("keys/config", "read", ground).risk is DENY


def test_assess_path_when_a_file_has_a_second_name_then_writing_is_denied(tmp_path: Path) -> None:
    ground = ground_on_disk(tmp_path)

    os.link(ground.main_checkout / "src" / "app.py", ground.root / "twin.py")

    assert assess_path("twin.py", "write", ground).risk is DENY
    assert assess_path("twin.py", "read", ground).risk is SAFE


def test_assess_path_when_it_is_no_plain_file_then_it_is_denied(tmp_path: Path) -> None:
    ground = ground_on_disk(tmp_path)
    os.mkfifo(ground.root / "pipe")

    found = [assess_path(path, "read", ground).risk for path in ("src", "pipe", "src/app.py")]

    assert found == [DENY, DENY, SAFE]


def test_assess_path_when_the_root_is_reached_by_a_link_then_both_spellings_are_inside(
    tmp_path: Path,
) -> None:
    ground = ground_on_disk(tmp_path)
    (tmp_path / "short").symlink_to(ground.root)

    linked = replace(ground, root=tmp_path / "short")

    assert assess_path("a.py", "write", linked).risk is WRITE
    assert assess_path(str(ground.root / "a.py"), "write", linked).risk is WRITE


def test_assess_folder_when_a_folder_is_searched_then_secret_folders_are_denied(
    tmp_path: Path,
) -> None:
    ground = ground_on_disk(tmp_path)

    found = [assess_folder(path, ground).risk for path in (".", "src", "~/.ssh", "/dev")]

    assert found == [SAFE, SAFE, DENY, DENY]

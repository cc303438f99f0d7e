"""Tests of modules/git/signing.py, on real keys of ssh."""

import subprocess
from pathlib import Path

import pytest

from modules.git.repository import open_repository
from modules.git.signing import try_signing
from modules.records.errors import PersonFault
from tests.repos import Repo, make_repo
from tests.team.queue_case import QueueCase


def make_signing_repo(folder: Path) -> Repo:
    """Makes a repository whose person signs their commits."""
    repo = make_repo(folder)
    key = repo.home / "key"
    subprocess.run(
        ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)], check=True, timeout=20
    )
    signers = repo.home / "signers"
    signers.write_text(f"ada@example.org {key.with_suffix('.pub').read_text()}")
    for name, value in (
        ("gpg.format", "ssh"),
        ("user.signingKey", str(key)),
        ("commit.gpgSign", "true"),
        ("gpg.ssh.allowedSignersFile", str(signers)),
    ):
        repo.git("config", "--global", name, value)
    return repo


def test_land_when_the_person_signs_their_commits_then_landings_are_signed(tmp_path: Path) -> None:
    repo = make_signing_repo(tmp_path)
    case = QueueCase(repo)
    case.submit(1, {"x.txt": "x\n"})
    case.submit(2, {"y.txt": "y\n"})

    assert case.drain() == ["merged", "merged"]
    for commit in ("main", "main~1"):
        repo.git("verify-commit", commit)
    assert list(case.repository.paths.temporary.glob("signature-*")) == []


def test_land_when_nobody_asked_for_it_then_nothing_is_signed(tmp_path: Path) -> None:
    repo = make_signing_repo(tmp_path)
    repo.git("config", "commit.gpgSign", "no")
    case = QueueCase(repo)
    case.submit(1, {"x.txt": "x\n"})

    assert case.drain() == ["merged"]
    assert "gpgsig" not in repo.git("cat-file", "commit", "main")


def test_recover_when_the_key_is_gone_then_the_person_is_told_what_to_do(tmp_path: Path) -> None:
    repo = make_signing_repo(tmp_path)
    (repo.home / "key").unlink()
    (repo.home / "key.pub").unlink()
    objects = sorted((repo.root / ".git" / "objects").rglob("*"))

    with pytest.raises(PersonFault, match=r"commit\.gpgSign") as caught:
        QueueCase(repo)

    assert "git config commit.gpgSign false" in caught.value.hint
    assert sorted((repo.root / ".git" / "objects").rglob("*")) == objects


@pytest.mark.parametrize("key", ["gpg.ssh.program", "gpg.program", "gpg.ssh.defaultKeyCommand"])
def test_try_signing_when_the_repository_names_a_program_then_it_is_not_run(
    tmp_path: Path, key: str
) -> None:
    repo = make_signing_repo(tmp_path)
    proof = tmp_path / "ran"
    program = tmp_path / "evil"
    program.write_text(f"#!/bin/sh\ntouch {proof}\nexit 1\n")
    program.chmod(0o755)
    repo.git("config", key, str(program))
    if key == "gpg.program":
        repo.git("config", "gpg.format", "openpgp")
    if key == "gpg.ssh.defaultKeyCommand":
        repo.git("config", "--global", "--unset", "user.signingKey")
    repo.git("commit", "-q", "-S", "--allow-empty", "-m", "x", accept=(0, 128))
    ran_unguarded = proof.exists()
    proof.unlink()
    repository = open_repository(repo.root, variables=repo.variables)
    assert repository.signing is not None

    try:
        try_signing(repository.git, repository.signing, temporary=repository.paths.temporary)
        is_signed = True
    except PersonFault:
        is_signed = False

    assert ran_unguarded
    assert not proof.exists()
    assert is_signed == (key == "gpg.ssh.program")

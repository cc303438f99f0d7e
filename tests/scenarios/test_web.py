"""web_fetch in the whole program: the lead fetches, for itself and for a worker without network."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.web import WebAnswer, WebServer, make_certificate
from tests.scenarios.programs import (
    PASSING,
    calls,
    crewyard,
    heard,
    make_repository,
    make_script,
    submit,
    worker,
)

pytestmark = pytest.mark.slow

HTML = {"Content-Type": "text/html"}
KEY = "zq9-rather-long-key-17"
PAGES = {
    "/guide": WebAnswer(headers=HTML, body=b"<h1>The guide</h1><p>Turn it left.</p>"),
    "/away": WebAnswer(status=302, headers={"Location": "http://169.254.169.254/latest/"}),
}


def fetching(url: str) -> dict[str, Any]:
    return {"web_fetch": {"url": url}}


def opened(own_environment: Path, *hosts: str) -> None:
    settings = own_environment / "crewyard" / "settings.toml"
    settings.parent.mkdir(exist_ok=True)
    settings.write_text(f"[web]\nallow = {json.dumps(hosts)}\n")


def test_lead_and_worker_read_a_page_the_person_opened(
    tmp_path: Path, own_environment: Path
) -> None:
    repository = make_repository(tmp_path / "sample", {"a.py": "a = 1\n"})
    with WebServer(PAGES) as server:
        opened(own_environment, f"127.0.0.1:{server.port}")
        other = server.url("/guide").replace("127.0.0.1", "localhost")
        spec = make_script(
            tmp_path,
            [
                {
                    "agent": "lead",
                    "turns": [
                        calls(
                            fetching(server.url("/guide")),
                            fetching(server.url("/away")),
                            fetching(other),
                            {"board_post_task": {"subject": "look it up"}},
                        ),
                        {"expect": "completed without changes", "say": "Read."},
                    ],
                },
                worker(
                    "look it up",
                    calls(fetching(server.url("/guide")), fetching(server.url(f"/{KEY}"))),
                    calls(submit(no_changes_reason="Only a look.")),
                ),
            ],
        )

        ended = crewyard(
            *("-p", "look", "--json", "--check", PASSING, "--model", spec),
            cwd=repository,
            environment={"SOME_API_KEY": KEY},
        )

    assert ended.code == 0, ended
    lead, worked = heard(repository, "lead-*"), heard(repository, "t1-1-*")
    assert "# The guide\n\nTurn it left." in lead
    assert "'169.254.169.254' is no public address" in lead
    assert "port" in lead
    assert "# The guide\n\nTurn it left." in worked
    assert "holds a secret" in worked
    assert sorted(server.asked) == [
        f"127.0.0.1:{server.port} /away",
        f"127.0.0.1:{server.port} /guide",
        f"127.0.0.1:{server.port} /guide",
    ]


def test_deny_rule_on_a_domain_holds_for_an_opened_host(
    tmp_path: Path, own_environment: Path
) -> None:
    repository = make_repository(tmp_path / "sample", {"a.py": "a = 1\n"})
    with WebServer(PAGES) as server:
        opened(own_environment, "127.0.0.1")
        settings = own_environment / "crewyard" / "settings.toml"
        rule = '[permissions]\ndeny = ["WebFetch(domain:127.0.0.1)"]\n'
        settings.write_text(settings.read_text() + rule)
        turns = [calls(fetching(server.url("/guide"))), {"say": "Not read."}]
        spec = make_script(tmp_path, [{"agent": "lead", "turns": turns}])

        ended = crewyard(*("-p", "look", "--json", "--model", spec), cwd=repository)

    assert ended.code == 0, ended
    assert "Permission denied" in heard(repository, "lead-*")
    assert server.asked == []


def test_way_from_https_to_http_needs_a_persons_yes(tmp_path: Path, own_environment: Path) -> None:
    repository = make_repository(tmp_path / "sample", {"a.py": "a = 1\n"})
    certificate = make_certificate(tmp_path / "tls.pem", "localhost")
    with WebServer(PAGES) as plain:
        there = f"http://localhost:{plain.port}/guide"
        secure_pages = {"/": WebAnswer(status=302, headers={"Location": there})}
        with WebServer(secure_pages, certificate=certificate) as secure:
            opened(own_environment, f"localhost:{plain.port}", f"localhost:{secure.port}")
            turns = [calls(fetching(f"https://localhost:{secure.port}/")), {"say": "Not read."}]
            spec = make_script(tmp_path, [{"agent": "lead", "turns": turns}])

            ended = crewyard(
                *("-p", "look", "--json", "--model", spec),
                cwd=repository,
                environment={"SSL_CERT_FILE": str(certificate)},
            )

    assert ended.code == 0, ended
    assert f"leads from https to '{there}'; it needs a person's yes" in heard(repository, "lead-*")
    assert secure.asked == [f"localhost:{secure.port} /"]
    assert plain.asked == []

"""Tests of modules/safety/egress_rules.py."""

import pytest

from modules.safety.egress_rules import is_open

ENTRIES = ("pypi.org", "*.pythonhosted.org", "Registry.Example.com:8443")


@pytest.mark.parametrize(
    ("host", "port", "expected"),
    [
        ("pypi.org", 443, True),
        ("PyPI.org.", 80, True),
        ("pypi.org", 8443, False),
        ("evil-pypi.org", 443, False),
        ("pypi.org.evil.com", 443, False),
        ("sub.pypi.org", 443, False),
        ("files.pythonhosted.org", 443, True),
        ("a.b.pythonhosted.org", 443, True),
        ("pythonhosted.org", 443, False),
        ("evilpythonhosted.org", 443, False),
        ("registry.example.com", 8443, True),
        ("registry.example.com", 443, False),
        ("", 443, False),
    ],
)
def test_is_open_when_a_host_is_asked_for_then_only_what_is_named_is(
    host: str, port: int, expected: bool
) -> None:
    assert is_open(host, port, ENTRIES) is expected


def test_is_open_when_nothing_is_named_then_nothing_is() -> None:
    assert not is_open("pypi.org", 443, ())

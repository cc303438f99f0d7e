import json
from urllib.parse import quote

import pytest

from modules.safety.secrets import FoundSecret, SecretMask, find_secrets, secret_values

# Built from parts, so that no scanner takes this file for a leak.
FAKES = {
    "a private key": "-----BEGIN RSA " + "PRIVATE KEY-----",
    "an Anthropic key": "sk-" + "ant-api03-" + "a1B2" * 8,
    "an OpenAI key": "sk-" + "proj-" + "a1B2" * 8,
    "an AWS key": "AKIA" + "A1B2" * 4,
    "a GitHub token": "ghp_" + "a1B2" * 9,
    "a GitLab token": "glpat-" + "a1B2" * 5,
    "a Google key": "AIza" + "a1B2c" * 7,
    "a Slack token": "xoxb-" + "1234-" * 4,
    "a Stripe key": "sk_" + "live_" + "a1B2" * 6,
    "an npm token": "npm_" + "a1B2" * 9,
    "a PyPI token": "pypi-" + "a1B2" * 15,
    "a JSON web token": "eyJ" + "a1B2" * 4 + ".eyJ" + "a1B2" * 4 + "." + "a1B2" * 4,
}


def test_secrets_are_the_values_of_variables_that_say_so() -> None:
    variables = {
        "ANTHROPIC_API_KEY": " k-1234567890 ",
        "DB_PASSWORD": "hunter2!x",
        "SSH_KEY": "-----BEGIN x\nabc\n",
        "GITHUB_TOKEN": "short",
        "SECRET_MODE": "development",
        "GOOGLE_APPLICATION_CREDENTIALS": "/home/ada/key.json",
        "PATH": "/usr/bin:/bin",
        "AWS_REGION": "eu-central-1",
        "SSH_AUTH_SOCK": "/run/agent.sock",
    }

    assert secret_values(variables) == {
        "ANTHROPIC_API_KEY": "k-1234567890",
        "DB_PASSWORD": "hunter2!x",
        "SSH_KEY": "-----BEGIN x\nabc",
    }


def test_mask_hides_every_place_and_names_the_secret() -> None:
    mask = SecretMask({"API_KEY": "k-1234567890"})

    masked = mask.masked("a k-1234567890 b\nk-1234567890k-1234567890")

    assert masked == "a [secret API_KEY] b\n[secret API_KEY][secret API_KEY]"
    assert mask.masked(masked) == masked


def test_longer_secret_wins_over_one_inside_of_it() -> None:
    mask = SecretMask({"SHORT_KEY": "abcd1234", "LONG_KEY": "abcd1234efgh"})

    assert mask.masked("abcd1234efgh abcd1234") == "[secret LONG_KEY] [secret SHORT_KEY]"


def test_mask_knows_the_secret_inside_of_urls_and_json() -> None:
    value = 'p/w+"ä" $1\\x\n'
    mask = SecretMask({"DB_PASSWORD": value})

    for text in (value, quote(value, safe=""), json.dumps({"password": value})):
        assert "p/w" not in mask.masked(text)
        assert "p%2Fw" not in mask.masked(text)
        assert "[secret DB_PASSWORD]" in mask.masked(text)


def test_mask_of_bytes_keeps_all_other_bytes() -> None:
    mask = SecretMask({"API_KEY": "k-1234567890"})

    assert mask.masked_bytes(b"\xff\x00k-1234567890\xfe") == b"\xff\x00[secret API_KEY]\xfe"


def test_mask_without_secrets_changes_nothing() -> None:
    assert SecretMask({}).masked("anything") == "anything"


@pytest.mark.parametrize(("kind", "fake"), FAKES.items(), ids=list(FAKES))
def test_secret_is_found_by_its_shape(kind: str, fake: str) -> None:
    found = find_secrets(f"first\nkey = '{fake}'\n")

    assert found == (FoundSecret(kind=kind, line=2),)


def test_ordinary_text_holds_no_secrets() -> None:
    text = "sk-learn is a name; AKIA too\nghp_short eyJ.eyJ.x -----BEGIN CERTIFICATE-----\n"

    assert find_secrets(text) == ()


@pytest.mark.timeout(10)
def test_hostile_text_costs_little() -> None:
    text = "sk-" * 100_000 + "eyJ" * 100_000 + "-----BEGIN " * 50_000

    find_secrets(text)

"""What this program takes for a secret of its own, and how a file loses it."""

from pathlib import Path

from modules.app.known_secrets import known_secrets, mask_file
from modules.mcp_client.values import ServerEntry
from modules.records.settings import Environment, ModelEntry, Settings
from modules.safety.secrets import SecretMask

NOWHERE = Path("/nowhere")


def environment(**variables: str) -> Environment:
    return Environment(variables=variables, home=NOWHERE, user_folder=NOWHERE)


def test_keys_of_the_environment_of_models_and_of_servers_are_known() -> None:
    settings = Settings(models={"openai:mine": ModelEntry(api_key_env="MY_LLM")})
    server = ServerEntry(name="s", command="s", env={"S_TOKEN": "t-123456789", "PORT": "8000"})

    found = known_secrets(
        environment(SHOP_API_KEY="k-123456789", MY_LLM="m-123456789", PATH="/usr/bin:/bin"),
        settings,
        [server],
    )

    assert found == {
        "SHOP_API_KEY": "k-123456789",
        "MY_LLM": "m-123456789",
        "S_TOKEN": "t-123456789",
    }


def test_word_that_only_fills_the_place_of_a_key_is_none() -> None:
    settings = Settings(models={"openai:mine": ModelEntry(api_key_env="MY_LLM")})

    for value in ("", "x", "none", "ollama", "unneeded"):
        assert known_secrets(environment(MY_LLM=value, A_KEY=value), settings, []) == {}


def test_file_keeps_all_but_the_secret(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_bytes(b"\xff start k-123456789 end\n")
    mask = SecretMask({"A_KEY": "k-123456789"})

    mask_file(log, mask)
    mask_file(tmp_path / "none", mask)

    assert log.read_bytes() == b"\xff start [secret A_KEY] end\n"
    assert not (tmp_path / "none").exists()

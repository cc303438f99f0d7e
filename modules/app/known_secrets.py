"""The secrets this program knows of, and how they are taken out of a file."""

from collections.abc import Sequence
from pathlib import Path

from modules.mcp_client.values import ServerEntry
from modules.records.settings import Environment, Settings
from modules.safety.secrets import SecretMask, is_secret_value, secret_values
from modules.store.files import write_atomically


def known_secrets(
    environment: Environment, settings: Settings, servers: Sequence[ServerEntry]
) -> dict[str, str]:
    """Returns the values nobody but their owners may see, by name."""
    variables = environment.variables
    found = secret_values(variables)
    for server in servers:
        found |= secret_values(server.env)
    named = {model.api_key_env for model in settings.models.values()} & variables.keys()
    return found | {name: variables[name] for name in named if is_secret_value(variables[name])}


def mask_file(path: Path, mask: SecretMask) -> None:
    """Masks the secrets in a file, where it is there and holds any."""
    try:
        data = path.read_bytes()
    except (FileNotFoundError, IsADirectoryError):
        return
    masked = mask.masked_bytes(data)
    if masked != data:
        write_atomically(path, masked)

"""Takes known secrets out of a file that something else has written."""

from pathlib import Path

from modules.safety.secrets import SecretMask
from modules.store.files import write_atomically


def mask_file(path: Path, mask: SecretMask) -> None:
    """Masks the secrets in a file, where it is there and holds any."""
    try:
        data = path.read_bytes()
    except (FileNotFoundError, IsADirectoryError):
        return
    masked = mask.masked_bytes(data)
    if masked != data:
        write_atomically(path, masked)

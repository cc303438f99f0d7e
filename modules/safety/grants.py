"""The rules a person granted with `always`, kept in their own folder, a list for each repository.

A file that can't be read is an error, never an empty one.
"""

from pathlib import Path

import msgspec

from modules.records.errors import PersonFault
from modules.records.settings import Rules, RuleText
from modules.store.files import write_atomically
from modules.store.locks import held

FILE_NAME = "grants.json"
_LOCK_SECONDS = 10.0


class Grants:
    """What was granted for one repository, known by the real path of its main checkout."""

    def __init__(self, user_folder: Path, root: Path) -> None:
        self._path = user_folder / FILE_NAME
        self._key = str(root.resolve())

    def rules(self) -> Rules:
        """Returns the granted rules as allow rules."""
        granted = self._read().get(self._key, [])
        return Rules(allow=tuple(RuleText(text=text, source=str(self._path)) for text in granted))

    def add(self, rule: str) -> None:
        """Keeps one more rule; it is on disk when this returns."""
        lock = self._path.with_name(self._path.name + ".lock")
        with held(lock, what="The file of grants", timeout_seconds=_LOCK_SECONDS):
            everything = self._read()
            granted = everything.setdefault(self._key, [])
            if rule not in granted:
                granted.append(rule)
                write_atomically(self._path, msgspec.json.encode(everything), mode=0o600)

    def _read(self) -> dict[str, list[str]]:
        try:
            return msgspec.json.decode(self._path.read_bytes(), type=dict[str, list[str]])
        except FileNotFoundError:
            return {}
        except (OSError, msgspec.MsgspecError) as error:
            raise PersonFault(
                f"The file of grants {str(self._path)!r} can't be read: {error}.",
                hint="Mend it, or delete it to grant anew.",
            ) from error

"""Python environments that import the main checkout's code: in a worktree they test the wrong one.

1. An editable install is a line of a `.pth` file that names a folder, or a finder with a table of
   packages; those that lead into the main checkout count.
2. The same folders of the worktree, put first by `PYTHONPATH`, win over both kinds.
"""

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

_MAPPING = re.compile(r"^MAPPING(?:\s*:[^=\n]*)?\s*=\s*(\{.*?\})\s*$", re.MULTILINE | re.DOTALL)
_LONGEST_BYTES = 1_000_000


@dataclass(frozen=True, slots=True)
class EditableInstall:
    """One environment, and the folders of the main checkout it imports from."""

    environment: Path
    folders: tuple[Path, ...]
    """Relative to the main checkout."""


def python_environments(path: str, checkout: Path, linked: Iterable[str]) -> list[Path]:
    """Returns the environments a command may use: those on the PATH, and those of the checkout."""
    on_path = [Path(folder).parent for folder in path.split(":") if _has_python(Path(folder))]
    own = [checkout / name for name in dict.fromkeys((".venv", "venv", *linked))]
    found = [*on_path, *(folder for folder in own if _has_python(folder / "bin"))]
    return list(dict.fromkeys(folder.resolve() for folder in found))


def editable_installs(environments: Iterable[Path], checkout: Path) -> list[EditableInstall]:
    """Returns the environments that import code of `checkout` itself."""
    root = checkout.resolve()
    found = []
    for environment in environments:
        paths = [path for site in _sites(environment) for path in _imported_folders(site)]
        inside = [path.relative_to(root) for path in paths if path.is_relative_to(root)]
        # What is installed into an environment inside of the checkout is no code of the checkout's.
        own = [path for path in inside if not (root / path).is_relative_to(environment)]
        if own:
            found.append(EditableInstall(environment, tuple(dict.fromkeys(own))))
    return found


def python_path(installs: Iterable[EditableInstall], folder: Path) -> Mapping[str, str]:
    """Returns the variable by which Python imports the code of the worktree `folder`."""
    folders = dict.fromkeys(path for install in installs for path in install.folders)
    return {"PYTHONPATH": ":".join(str(folder / path) for path in folders)} if folders else {}


def _has_python(folder: Path) -> bool:
    return folder.is_absolute() and any((folder / name).exists() for name in ("python3", "python"))


def _sites(environment: Path) -> list[Path]:
    folders = ("lib/python3*/site-packages", "lib/python3*/dist-packages")
    return sorted(site for pattern in folders for site in environment.glob(pattern))


def _imported_folders(site: Path) -> Iterator[Path]:
    for file in sorted(site.glob("*.pth")):
        for line in _text(file).splitlines():
            # Lines that begin with `import` are code; finders are read by their own files.
            if line.strip() and not line.startswith(("#", "import ", "import\t")):
                yield (site / line.strip()).resolve()
    for file in sorted(site.glob("__editable__*_finder.py")):
        for place in _mapped(_text(file)):
            yield Path(place).resolve().parent


def _mapped(code: str) -> list[str]:
    """Returns where the packages lie that a finder written by setuptools knows."""
    table = _MAPPING.search(code)
    if table is None:
        return []
    try:
        mapping = ast.literal_eval(table[1])
    except (ValueError, SyntaxError):
        return []  # Written in another way; such a finder is not known to us.
    return [str(place) for place in mapping.values()] if isinstance(mapping, dict) else []


def _text(file: Path) -> str:
    try:
        return file.read_bytes()[:_LONGEST_BYTES].decode("utf-8", "replace")
    except OSError:
        return ""  # Gone meanwhile, or not ours to read: then Python can't read it either.

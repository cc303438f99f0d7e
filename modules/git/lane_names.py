"""Names of lanes: valid as a folder, as the end of a branch name, and readable.

1. Only small ASCII letters, digits and single hyphens; never longer than 40 characters.
2. A lane of a task starts with task and attempt, so no two attempts share a name.
3. `check-<n>` and `merge-cell` are the queue's own; nothing else is called that.
"""

import re
import unicodedata
from collections.abc import Iterator

LONGEST_NAME = 40
CHECK_TREE_PREFIX = "check-"
CHECK_TREE = re.compile(rf"{CHECK_TREE_PREFIX}\d+")
ATTEMPT = re.compile(r"t\d+-\d+(-|$)")
"""How the name of a lane begins that was made for an attempt; a person's own begin otherwise."""
_TRIES = 1_000


def lane_name(*, task: int, attempt: int, subject: str) -> str:
    """Returns the name of the lane for one attempt of one task."""
    return as_name(f"t{task}-{attempt}-{subject}")


def as_name(text: str) -> str:
    """Returns the valid name closest to `text`."""
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode().lower()
    slug = re.sub(r"[^a-z0-9]+", "-", plain).strip("-")
    if not slug:
        return "lane"
    if CHECK_TREE.fullmatch(slug):
        slug = f"lane-{slug}"
    return slug[:LONGEST_NAME].rstrip("-")


def candidates(name: str) -> Iterator[str]:
    """Yields `name`, then the same with `-2`, `-3` and so on."""
    yield name
    for number in range(2, _TRIES):
        suffix = f"-{number}"
        yield name[: LONGEST_NAME - len(suffix)].rstrip("-") + suffix

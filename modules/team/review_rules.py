"""Who has to look at work before it may be queued; pure.

1. A file is under the policies of all patterns that match its path, or where none does the general
   one; the strictest counts.
2. Work is under the strictest policy of its files: a person before the lead before nobody.
3. In a pattern `*` and `?` stay within one folder, `**` goes across.
"""

import re
from collections.abc import Iterable, Mapping

from modules.records.settings import Review

_STRICTNESS: tuple[Review, ...] = ("none", "lead", "person")
_TOKEN = re.compile(r"\*\*/|\*\*|\*|\?|[^*?]+")
_MEANING = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}


def policy_for(files: Iterable[str], *, general: Review, by_path: Mapping[str, Review]) -> Review:
    """Returns who has to look at work that changes `files`."""
    patterns = [(_compiled(glob), policy) for glob, policy in by_path.items()]
    found: set[Review] = set()
    for file in files:
        found |= {policy for pattern, policy in patterns if pattern.fullmatch(file)} or {general}
    return max(found or {general}, key=_STRICTNESS.index)


def _compiled(glob: str) -> re.Pattern[str]:
    words = (_MEANING.get(token) or re.escape(token) for token in _TOKEN.findall(glob))
    return re.compile("".join(words), re.DOTALL)

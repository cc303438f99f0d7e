"""Who has to look at work, by the files it changes."""

import pytest

from modules.records.settings import Review
from modules.team.review_rules import policy_for

BY_PATH: dict[str, Review] = {
    "migrations/**": "person",
    "**/*.lock": "lead",
    "docs/*.md": "none",
    "docs/secret?.md": "person",
    "exact.py": "person",
}


@pytest.mark.parametrize(
    ("files", "general", "policy"),
    [
        ([], "lead", "lead"),
        (["src/a.py"], "none", "none"),
        (["src/a.py"], "lead", "lead"),
        (["migrations/1/a.sql"], "none", "person"),
        (["uv.lock"], "none", "lead"),
        (["web/yarn.lock"], "none", "lead"),
        (["docs/a.md"], "person", "none"),
        (["docs/sub/a.md"], "person", "person"),
        (["docs/secret1.md"], "none", "person"),
        (["docs/a.md", "src/a.py"], "lead", "lead"),
        (["docs/a.md", "migrations/1.sql"], "lead", "person"),
        (["exact_py", "other/exact.py", "exact.pyc"], "none", "none"),
        (["migrations/a\nb"], "none", "person"),
    ],
)
def test_policy_is_the_strictest_of_the_files(
    files: list[str], general: Review, policy: Review
) -> None:
    assert policy_for(files, general=general, by_path=BY_PATH) == policy

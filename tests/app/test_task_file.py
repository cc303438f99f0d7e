from pathlib import Path

import pytest

from modules.app.task_file import read_tasks
from modules.records.errors import PersonFault
from modules.records.tasks import TaskDraft


def write(folder: Path, text: str) -> Path:
    path = folder / "tasks.yaml"
    path.write_text(text)
    return path


def test_names_of_the_file_become_places_and_ids_stay(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        "- {name: a, subject: do a, role: backend, priority: 1}\n"
        "- {subject: do b, after: [a, 7]}\n",
    )

    drafts, places = read_tasks(path)

    assert drafts == [
        TaskDraft(subject="do a", role="backend", priority=1),
        TaskDraft(subject="do b", after=(7,)),
    ]
    assert places == [[], [0]]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("- {subject: a, after: [b]}", "'b'"),
        ("- {name: a, subject: x}\n- {name: a, subject: y}", "twice"),
        ("- {subject: a, subjekt: b}", "0.subjekt"),
        ("a: [", "not YAML"),
        ("just words", "list"),
    ],
)
def test_wrong_file_is_named_with_the_place(tmp_path: Path, text: str, words: str) -> None:
    path = write(tmp_path, text)

    with pytest.raises(PersonFault) as caught:
        read_tasks(path)

    assert str(path) in caught.value.line
    assert words in caught.value.line


def test_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(PersonFault, match=r"nowhere\.yaml"):
        read_tasks(tmp_path / "nowhere.yaml")

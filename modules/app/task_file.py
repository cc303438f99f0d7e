"""A file of tasks for `task add --file`, YAML or JSON, as a person writes it.

A list of tasks with the fields of `task add`; `after` names tasks on the board by id, and tasks of
the same file by their `name`.
"""

from collections.abc import Sequence
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from modules.records.errors import PersonFault
from modules.records.tasks import TaskDraft


class WrittenTask(BaseModel):
    """One task of the file."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str = ""
    """What other tasks of the file call it in `after`."""
    subject: str = Field(min_length=1)
    description: str = ""
    role: str = ""
    after: list[int | str] = []
    priority: int = Field(default=2, ge=0, le=4)
    check: str = ""
    writes: list[str] = []
    model: str = ""
    attempts_allowed: int = Field(default=3, ge=1)


def read_tasks(path: Path) -> tuple[list[TaskDraft], list[list[int]]]:
    """Returns the drafts, and for each the places in the list it waits for.

    Raises PersonFault that names the file and the place.
    """
    import yaml

    try:
        raw = yaml.safe_load(path.read_text(encoding="utf-8"))
        written = TypeAdapter(list[WrittenTask]).validate_python(raw)
    except OSError as error:
        raise PersonFault(
            f"The file of tasks {str(path)!r} can't be read: {error.strerror}.", hint="Name a file."
        ) from error
    except (UnicodeDecodeError, yaml.YAMLError) as error:
        words = " ".join(str(error).split())
        raise PersonFault(
            f"The file of tasks {str(path)!r} is not YAML: {words}.", hint="Correct it."
        ) from error
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"]) or "the whole file"
        raise PersonFault(
            f"The file of tasks {str(path)!r} is wrong at {where}: {first['msg']}.",
            hint="It is a list of tasks, each with a subject.",
        ) from error
    places = _places(path, written)
    return [_draft(task) for task in written], [
        [places[word] for word in task.after if isinstance(word, str)] for task in written
    ]


def _places(path: Path, written: Sequence[WrittenTask]) -> dict[str, int]:
    places: dict[str, int] = {}
    for number, task in enumerate(written):
        if task.name in places:
            raise PersonFault(
                f"The file of tasks {str(path)!r} has the name {task.name!r} twice.",
                hint="Give each task a name of its own.",
            )
        if task.name:
            places[task.name] = number
    for task in written:
        for word in task.after:
            if isinstance(word, str) and word not in places:
                raise PersonFault(
                    f"In the file of tasks {str(path)!r}, {task.subject!r} waits for {word!r}, "
                    "which no task there is called.",
                    hint="Name it as that task's `name`, or give a task's id.",
                )
    return places


def _draft(task: WrittenTask) -> TaskDraft:
    return TaskDraft(
        subject=task.subject,
        description=task.description,
        role=task.role,
        after=tuple(word for word in task.after if isinstance(word, int)),
        priority=task.priority,
        check=task.check,
        writes=tuple(task.writes),
        model=task.model,
        attempts_allowed=task.attempts_allowed,
    )

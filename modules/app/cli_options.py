"""The options that several commands share, and the one place that reads them."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from modules.records.record import Record

Repo = Annotated[Path, typer.Option("--repo", help="Folder of the repository.", metavar="DIR")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document on stdout.")]
Model = Annotated[
    str | None, typer.Option("--model", help="The lead's model.", metavar="PROVIDER:MODEL")
]
WorkerModel = Annotated[
    str | None,
    typer.Option("--worker-model", help="The workers' model.", metavar="PROVIDER:MODEL"),
]
Workers = Annotated[
    int | None, typer.Option("--workers", min=1, max=16, help="Workers at once.", metavar="N")
]
Mode = Annotated[
    str | None,
    typer.Option("--mode", help="plan, default, auto, acceptEdits or yolo.", metavar="MODE"),
]
Check = Annotated[
    str | None,
    typer.Option("--check", help="Command that must pass before work lands.", metavar="CMD"),
]
Target = Annotated[
    str | None, typer.Option("--target", help="Branch the work lands on.", metavar="BRANCH")
]
BudgetUsd = Annotated[
    float | None, typer.Option("--budget-usd", min=0.0, help="Most money a run may cost.")
]
BudgetTokens = Annotated[
    int | None, typer.Option("--budget-tokens", min=1, help="Most tokens a run may use.")
]

HERE = Path()
LAST = "last"
"""What `--resume` means without an id."""


class RunOptions(Record):
    """What the command line says about a run; None: not said."""

    model: str | None = None
    worker_model: str | None = None
    workers: int | None = None
    mode: str | None = None
    check: str | None = None
    target: str | None = None
    budget_usd: float | None = None
    budget_tokens: int | None = None
    resume: str | None = None
    """The conversation of the lead to go on with."""

    def flags(self) -> Mapping[str, object]:
        """Returns those options that are settings, by the names of the settings."""
        names = [name for name in self.__struct_fields__ if name != "resume"]
        return {name: getattr(self, name) for name in names}


def folder_of(repo: Path) -> Path:
    """Returns the folder a command works in, as an absolute path."""
    return Path(os.path.abspath(repo))  # noqa: PTH100 - keeps links as the person wrote them

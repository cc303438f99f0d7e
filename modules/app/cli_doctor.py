"""`doctor`: is everything there that a run needs?"""

from typer import Typer

from modules.app.cli_options import HERE, Json, Repo, folder_of
from modules.app.cli_output import print_json, print_lines
from modules.records.exits import Exit


def register(app: Typer) -> None:
    """Adds the command to the program."""
    app.command("doctor")(doctor)


def doctor(repo: Repo = HERE, as_json: Json = False) -> int:
    """Looks at all a run stands on, and tells what to do where something is amiss."""
    # Other commands need not load what this one does.
    import msgspec

    from modules.app.doctor import examine
    from modules.app.findings import Finding, State

    def lines(finding: Finding) -> list[str]:
        told = [f"{finding.state:4}  {finding.topic}: {finding.text}"]
        return told + ([f"      → {finding.hint}"] if finding.hint else [])

    found = examine(folder_of(repo))
    if as_json:
        print_json(msgspec.to_builtins(found))
    else:
        print_lines(line for finding in found for line in lines(finding))
    return Exit.FAILED if any(f.state is State.FAIL for f in found) else Exit.DONE

"""Output of commands: plain lines for people, one JSON document for programs."""

import json
import os
import sys
from collections.abc import Iterable


def print_json(value: object) -> None:
    """Prints one JSON document on stdout."""
    print(json.dumps(value, ensure_ascii=False))
    sys.stdout.flush()


def print_lines(lines: Iterable[str]) -> None:
    """Prints lines on stdout."""
    for line in lines:
        print(line)
    sys.stdout.flush()


def tell_error(line: str) -> None:
    """Tells a person on stderr what went wrong."""
    print(f"crewyard: {line}", file=sys.stderr)


def leave_reader() -> None:
    """Lets go of a stdout that nobody reads any more, so that nothing fails on it again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())

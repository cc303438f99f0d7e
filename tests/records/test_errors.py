"""An error tells the person one line, and a script its exit code."""

from modules.records.errors import PersonFault
from modules.records.exits import Exit


def test_line_of_an_error_says_what_and_then_what_to_do() -> None:
    fault = PersonFault("The file 'a' is gone.", hint="Restore it.", exit_code=Exit.FAILED)

    assert fault.line == "The file 'a' is gone. Restore it."
    assert fault.exit_code == 1


def test_line_of_an_error_without_a_hint_ends_with_the_message() -> None:
    assert PersonFault("Stop.", hint="").line == "Stop."
    assert PersonFault("Stop.", hint="").exit_code is Exit.USAGE

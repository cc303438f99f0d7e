"""Tests of modules/team/check_rules.py."""

import pytest

from modules.records.merges import CheckOutcome
from modules.team.check_rules import failed_tests, outcome_of

PASSED, FAILED = CheckOutcome.PASSED, CheckOutcome.FAILED
NO_TESTS, COULD_NOT_RUN = CheckOutcome.NO_TESTS, CheckOutcome.COULD_NOT_RUN


@pytest.mark.parametrize(
    ("command", "exit_code", "output", "outcome"),
    [
        ("true", 0, "", PASSED),
        ("pytest -q", 0, "3 passed in 0.1s", PASSED),
        ("pytest -q", 1, "1 failed, 3 passed in 0.1s", FAILED),
        ("pytest -q", 5, "", NO_TESTS),
        ("pytest", 5, "collected 0 items\n\n==== no tests ran in 0.01s ====", NO_TESTS),
        ("pytest", 2, "collected 0 items / 1 error\n==== 1 error in 0.1s ====", FAILED),
        ("pytest", 0, "==== 2 skipped in 0.01s ====", NO_TESTS),
        ("pytest", 0, "==== 1 passed, 2 skipped in 0.01s ====", PASSED),
        ("pytest a; pytest b", 0, "no tests ran in 0.01s\n1 passed in 0.01s", PASSED),
        ("pytest", 0, "\x1b[33mno tests ran\x1b[0m in 0s", NO_TESTS),
        ("make test", 2, "no tests ran in 0.01s\nmake: *** [test] Error 5", NO_TESTS),
        ("./run", 5, "something else", FAILED),
        ("python -m unittest", 0, "\nRan 0 tests in 0.000s\n\nOK\n", NO_TESTS),
        ("python -m unittest", 5, "\nRan 0 tests in 0.000s\n\nNO TESTS RAN\n", NO_TESTS),
        ("python -m unittest", 0, "\nRan 3 tests in 0.000s\n\nOK\n", PASSED),
        ("go test ./...", 0, "?   \tpkg\t[no test files]\n", NO_TESTS),
        ("go test ./...", 0, "?   \tpkg\t[no test files]\nok  \tpkg/b\t0.003s\n", PASSED),
        ("go test ./...", 0, "ok  \tpkg\t0.003s [no tests to run]\n", NO_TESTS),
        ("go test ./...", 0, "ok  \tpkg\t(cached)\n", PASSED),
        ("cargo test", 0, "running 0 tests\n\ntest result: ok. 0 passed; 0 failed\n", NO_TESTS),
        ("cargo test", 0, "running 2 tests\n...\nrunning 0 tests\n", PASSED),
        ("npx jest", 1, "No tests found, exiting with code 1\n", NO_TESTS),
        ("node --test", 0, "# tests 0\n# pass 0\n", NO_TESTS),
        ("node --test", 0, "# tests 4\n# pass 4\n", PASSED),
        ("ctest", 0, "No tests were found!!!\n", NO_TESTS),
        ("mvn test", 0, "Tests run: 0, Failures: 0\n", NO_TESTS),
        ("nosuch", 127, "bash: line 1: nosuch: command not found", COULD_NOT_RUN),
        ("./README", 126, "bash: ./README: Permission denied", COULD_NOT_RUN),
        ("pytest", 1, "OSError: [Errno 28] No space left on device", COULD_NOT_RUN),
        ("pytest", 137, "", FAILED),
    ],
)
def test_outcome_of_an_ended_check(
    command: str, exit_code: int, output: str, outcome: CheckOutcome
) -> None:
    assert outcome_of(command, exit_code=exit_code, output=output) is outcome


@pytest.mark.parametrize(
    ("output", "names"),
    [
        (
            "FAILED tests/a.py::test_x[1] - assert 1 == 2\n1 failed in 0.1s",
            ("tests/a.py::test_x[1]",),
        ),
        (
            "ERROR tests/a.py - ImportError\nFAILED b.py::t\nFAILED b.py::t",
            ("tests/a.py", "b.py::t"),
        ),
        ("\x1b[31mFAILED\x1b[0m a.py::t\r\n", ("a.py::t",)),
        (
            "FAIL: test_x (t.T.test_x)\n---\nERROR: test_y (t.T)\n",
            ("test_x (t.T.test_x)", "test_y (t.T)"),
        ),
        ("--- FAIL: TestX (0.00s)\n    --- FAIL: TestX/sub (0.00s)\n", ("TestX", "TestX/sub")),
        ("test a::b ... FAILED\ntest a::c ... ok\n", ("a::b",)),
        ("  ✕ adds numbers (3 ms)\n  ✓ other\n", ("adds numbers",)),
        ("not ok 2 - parses\nok 3 - prints\n", ("parses",)),
        ("FAILED to connect\nall is well", ()),
        ("", ()),
    ],
)
def test_failed_tests_then_are_those_the_runner_names(output: str, names: tuple[str, ...]) -> None:
    assert failed_tests(output) == names

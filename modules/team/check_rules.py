"""What the end of a check means.

1. Exit code 0 is a pass, unless the output shows that a test runner ran and found no test.
2. Any other exit code is a failure; but when a runner says it found no test, and none ran or
   failed, the check proved nothing: `no_tests`.
3. Exit code 5 of pytest or unittest is `no_tests` even when the output is silent.
4. 126 and 127 are the shell's own: the command could not be run. So are a full disk and a missing
   folder.
5. One runner that ran a test outweighs others that found none.
6. The words come from the runners' closing lines; they never turn a failure into a pass.
7. Which tests failed is read from what runners print of each; a runner nobody knows tells none.
"""

import re

from modules.records.merges import CheckOutcome

_ANSI = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_EMPTY = re.compile(
    r"""
      \bcollected\ 0\ items\ *$                       # pytest
    | \bno\ tests\ ran\b                              # pytest, unittest
    | ^=*\ ?(?:\d+\ (?:skipped|deselected|warnings?),?\ )+in\ \d   # pytest: nothing but skips
    | ^Ran\ 0\ tests\b                                # unittest
    | \[no\ test\ files\]                             # go test
    | \[no\ tests\ to\ run\]                          # go test
    | ^running\ 0\ tests\b                            # cargo test
    | \bno\ tests?\ (?:files?\ )?found\b              # jest, vitest, ctest
    | ^\#\ tests\ 0$ | ^ℹ\ tests\ 0$                  # node --test
    | ^\s*0\ passing\b                                # mocha
    | ^Tests\ run:\ 0,                                # surefire
    | ^0\ examples,                                   # rspec
    | \bNo\ tests\ (?:executed|were\ found)           # phpunit, ctest
    | ^NO\ TESTS\ RAN$                                # unittest
    """,
    re.IGNORECASE | re.MULTILINE | re.VERBOSE,
)
_RAN = re.compile(
    r"""
      \b[1-9]\d*\ (?:passed|failed|xfailed|xpassed|errors?|passing|failing)\b
    | ^Ran\ [1-9]\d*\ tests?\b
    | ^ok\ +\t?\S+\s+(?:[\d.]+s|\(cached\))\ *(?!.*no\ tests)
    | ^running\ [1-9]\d*\ tests?\b
    | ^\#\ tests\ [1-9] | ^ℹ\ tests\ [1-9]
    | ^Tests\ run:\ [1-9]
    | ^[1-9]\d*\ examples?,
    | ^OK\ \([1-9]
    | tests\ passed,.*\ out\ of\ [1-9]
    """,
    re.IGNORECASE | re.MULTILINE | re.VERBOSE,
)
_FAILED = re.compile(
    r"""
      ^(?:FAILED|ERROR)\ (\S+::\S+|\S+\.py)           # pytest
    | ^(?:FAIL|ERROR):\ (\S+\ \(\S+\))                 # unittest
    | ^\s*---\ FAIL:\ (\S+)                           # go test
    | ^test\ (\S+)\ \.\.\.\ FAILED                    # cargo test
    | ^\s*(?:✕|✖|×|not\ ok\ \d+\ -)\ +(.+?)(?:\ +\(?[\d.]+\ ?m?s\)?)?$   # jest, vitest, node, TAP
    """,
    re.MULTILINE | re.VERBOSE,
)
_MOST_NAMED = 50
_EXIT_5_RUNNERS = re.compile(r"\b(?:pytest|py\.test|unittest|tox|nox)\b")
_NO_SPACE = re.compile(r"\bNo space left on device\b|\bENOSPC\b")


def outcome_of(command: str, *, exit_code: int, output: str) -> CheckOutcome:
    """Returns what a command that ended by itself proved; `output` is its last part."""
    text = _ANSI.sub("", output).replace("\r\n", "\n")
    if exit_code in (126, 127):
        return CheckOutcome.COULD_NOT_RUN
    if exit_code != 0 and _NO_SPACE.search(text):
        return CheckOutcome.COULD_NOT_RUN
    has_run = _RAN.search(text) is not None
    found_none = _EMPTY.search(text) is not None
    if exit_code == 5 and _EXIT_5_RUNNERS.search(command):
        found_none = True
    if found_none and not has_run:
        return CheckOutcome.NO_TESTS
    return CheckOutcome.PASSED if exit_code == 0 else CheckOutcome.FAILED


def failed_tests(output: str) -> tuple[str, ...]:
    """Returns the names of the tests that failed, as far as the output tells them."""
    text = _ANSI.sub("", output).replace("\r\n", "\n")
    names = (next(filter(None, found.groups())) for found in _FAILED.finditer(text))
    return tuple(dict.fromkeys(names))[:_MOST_NAMED]

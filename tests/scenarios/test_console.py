"""The console at a real terminal: CON-01 pasting, CON-02 Ctrl-C, CON-03 width, CON-04 pipes."""

import os
import re
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from modules.records.messages import Text, ToolOutput
from modules.records.session_records import AnySessionRecord, MessageKept
from modules.store.journal import Journal
from tests.fakes.model_server import Answer, Asked, Ending, FakeCall
from tests.fakes.openai_server import OpenAiServer
from tests.scenarios.programs import (
    assert_nothing_left,
    command,
    crewyard,
    make_repository,
    make_script,
    processes_in,
    writing,
)
from tests.scenarios.terminals import BACKSPACE, CTRL_C, CTRL_D, LEFT, PASTE, Console, console

pytestmark = pytest.mark.slow

READY = "Say what you want"
STOPPED_SECONDS = 10.0
BLOCK = "\n".join(
    ["please read this", "\tindented", "/exit", "!rm -rf .", "", "y", "\x03\x1b[31mred"]
    + [f"line {number}" for number in range(23)]
)
ABOUT = re.compile(r"<(context|team-events)>.*?</\1>", re.DOTALL)
"""What the program itself tells the model beside the person's words."""
CLEAN_BLOCK = BLOCK.replace("\x03\x1b", "")


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    return make_repository(tmp_path / "sample", {"README.md": "a sample\n"})


def lead(*turns: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"agent": "lead", "turns": list(turns)}]


def asking(task: str) -> dict[str, Any]:
    """Returns the script of a worker that asks for the network and then hands in one file."""
    entry = writing(task, f"{task[-1]}.py", "x = 1\n")
    call = {"bash": {"command": f"curl -s https://example.com/{task}\x1b[31m"}}
    return {**entry, "turns": [{"call": [call]}, *entry["turns"]]}


def heard(repository: Path) -> list[str]:
    """Returns what the lead's model was told by the person, oldest first."""
    texts = [
        ABOUT.sub("", block.text).strip()
        for message in history(repository)
        for block in message.message.blocks
        if message.message.role == "user" and isinstance(block, Text)
    ]
    return [text for text in texts if text]


def outputs(repository: Path) -> list[str]:
    return [
        block.text
        for message in history(repository)
        for block in message.message.blocks
        if isinstance(block, ToolOutput)
    ]


def history(repository: Path) -> list[MessageKept]:
    (path,) = (repository / ".team" / "sessions").glob("lead-*.jsonl")
    records: list[AnySessionRecord] = []
    Journal(path, AnySessionRecord, apply=records.append).catch_up()
    return [record for record in records if isinstance(record, MessageKept)]


def test_first_screen_tells_where_it_works_and_leaving_gives_the_terminal_back(
    repository: Path, tmp_path: Path
) -> None:
    spec = make_script(tmp_path, lead({"say": "Good day."}))
    with console("--model", spec, "--check", "true", cwd=repository) as person:
        person.sees(READY, "sample on main at", spec, "check    true", "sandbox", "/help")
        person.say("hello")
        person.sees("> hello", "Good day.")
        person.say("")
        person.say("  ")
        person.say("/help")
        person.sees("/board", "/team", "/queue", "/mcp", "/inbox", "/prompt")
        person.say("exit")

        assert person.ends() == 0

        person.assert_given_back()
        assert heard(repository) == ["hello"]


def test_without_a_check_the_first_screen_says_what_that_means(
    repository: Path, tmp_path: Path
) -> None:
    spec = make_script(tmp_path, lead({"say": "Good day."}))
    with console("--model", spec, cwd=repository) as person:
        person.sees(READY, "none, so no work can land")
        person.type(CTRL_D)

        assert person.ends() == 0


def test_words_typed_while_the_lead_and_the_crew_work_stay_whole(
    repository: Path, tmp_path: Path
) -> None:
    post = {"board_post_task": {"subject": "add one", "description": "x"}}
    spec = make_script(
        tmp_path,
        [
            *lead(
                {"say": "Here I go.\n" * 5, "call": [post]},
                {"say": "Waiting.", "delay_seconds": 90},
            ),
            writing("add one", "one.py", "x = 1\n"),
        ],
    )
    with console("--model", spec, "--check", "true", cwd=repository) as person:
        person.sees(READY)
        person.say("go")
        for letter in "these words stay":
            person.type(letter)
            person.reads(0.1)
        person.sees("has landed as", "1 of 1 tasks done", "> these words stay")

        assert [line for line in person.lines if "these words" in line] == ["> these words stay"]
        assert sum(line == "Here I go." for line in person.lines) == 5
        person.type(CTRL_C)
        person.sees("(interrupted;", "> these words stay")
        wait_past_twice(person)
        person.type(CTRL_C)
        person.settles()
        person.waits(lambda: "these words" not in person.text, "the words are gone")
        person.say("quit")
        assert person.ends() == 0
        assert_nothing_left(repository)


def test_pasted_block_is_one_prompt_also_during_a_turn(repository: Path, tmp_path: Path) -> None:
    spec = make_script(
        tmp_path,
        lead({"say": "One.", "delay_seconds": 2}, {"say": "Two."}, {"say": "Three."}),
    )
    with console("--model", spec, "--check", "true", cwd=repository) as person:
        person.sees(READY)
        person.type(PASTE.format(BLOCK.replace("\n", "\r")))
        person.say("")
        person.sees("the lead thinks")
        person.type(PASTE.format("exit"))
        person.say("")
        person.type(PASTE.format("/board\r/team"))
        person.say("")
        person.sees("One.", "Two.")

        assert heard(repository) == [CLEAN_BLOCK, "exit\n\n/board\n/team"]
        assert person.process.poll() is None
        person.say("exit")
        assert person.ends() == 0


def test_worker_s_questions_are_asked_one_by_one_and_a_paste_answers_none(
    repository: Path, tmp_path: Path
) -> None:
    posts = [{"board_post_task": {"subject": f"ask {n}", "description": "x"}} for n in (1, 2)]
    spec = make_script(
        tmp_path,
        [
            *lead({"call": posts}, {"say": "Noted."}, {"say": "Landed."}, {"say": "Again."}),
            asking("ask 1"),
            asking("ask 2"),
        ],
    )
    with console("--model", spec, "--check", "true", cwd=repository) as person:
        person.sees(READY)
        person.say("go")
        person.sees("wants to use bash", r"curl -s https://example.com/ask", "\\x1b[31m", "y = yes")
        person.sees("(1 more wait)")
        assert person.text.count("wants to use bash") == 1

        person.type(PASTE.format("y\r"))
        person.say("")
        person.sees("What is pasted answers no question")
        assert person.text.count("wants to use bash") == 1

        person.say("n")
        person.waits(lambda: person.text.count("wants to use bash") == 2, "the second question")
        person.sees("bash was refused", "the person said no")
        person.say("y")
        person.waits(lambda: person.text.count("has landed as") == 2, "two landings")
        person.say("exit")
        assert person.ends() == 0
        assert_nothing_left(repository)


def test_unanswered_question_is_a_no(
    repository: Path, tmp_path: Path, own_environment: Path
) -> None:
    (own_environment / "crewyard").mkdir()
    (own_environment / "crewyard" / "settings.toml").write_text("ask_timeout_seconds = 1.5\n")
    fetch = {"bash": {"command": "curl -s https://example.com"}}
    spec = make_script(tmp_path, lead({"call": [fetch]}, {"say": "Then not."}))
    with console("--model", spec, "--check", "true", cwd=repository) as person:
        person.sees(READY)
        person.say("go")
        person.sees("lead wants to use bash", "Without an answer by")
        person.sees("Then not.")

        assert "nobody answered within" in " ".join(outputs(repository))
        person.settles()
        assert "y/n" not in "".join(person.lines[-3:])


def test_answer_typed_before_the_question_came_does_not_answer_it(
    repository: Path, tmp_path: Path
) -> None:
    fetch = {"bash": {"command": "curl -s https://example.com"}}
    spec = make_script(
        tmp_path, lead({"call": [fetch], "delay_seconds": 1.5}, {"say": "Then not."})
    )
    with console("--model", spec, "--check", "true", cwd=repository) as person:
        person.sees(READY)
        person.say("go")
        person.type("y")
        person.sees("wants to use bash")
        person.say("")
        person.sees("typed before this question")

        assert outputs(repository) == []


def test_ctrl_c_takes_back_what_was_typed_and_else_says_how_to_leave(
    repository: Path, tmp_path: Path
) -> None:
    spec = make_script(tmp_path, lead({"say": "Hello."}))
    with console("--model", spec, "--check", "true", cwd=repository) as person:
        person.sees(READY)
        person.type("some words")
        person.sees("> some words")
        person.type(CTRL_C)
        person.waits(lambda: "some words" not in person.text, "the words are gone")
        wait_past_twice(person)
        person.type(CTRL_C)
        person.sees("Ctrl-C twice within a second")
        wait_past_twice(person)
        person.type(CTRL_C)
        person.settles()
        assert person.process.poll() is None
        person.type(CTRL_C)
        person.type(CTRL_C)

        assert person.ends() == 130

        person.assert_given_back()


def test_ctrl_c_cancels_only_what_runs_and_history_stays_valid(repository: Path) -> None:
    """PRV-01: each call has exactly one result in the next message."""

    def answer(asked: Asked) -> Answer:
        if asked.newest.endswith("stream"):
            return Answer(say="I begin and " * 20, ending=Ending.SILENCE)
        if asked.newest.endswith("sleep"):
            reads = FakeCall(name="read_file", input={"path": "README.md"})
            sleeps = FakeCall(name="bash", input={"command": "sleep 47"})
            return Answer(calls=(reads, sleeps, reads))
        if asked.newest.endswith("fetch"):
            return Answer(calls=(FakeCall(name="bash", input={"command": "curl -s example.com"}),))
        return Answer(say=f"I heard {asked.newest.split()[-1]}.")

    with OpenAiServer(answer) as server:
        environment = {"OPENAI_BASE_URL": server.base_url, "OPENAI_API_KEY": "none"}
        arguments = ("--model", "openai:test", "--check", "true")
        with console(*arguments, cwd=repository, environment=environment) as person:
            person.sees(READY)
            for words, sign in (
                ("stream", "I begin and"),
                ("sleep", "bash sleep 47"),
                ("fetch", "wants to use bash"),
            ):
                person.say(words)
                person.sees(sign)
                person.type(CTRL_C)
                person.waits(lambda: is_on_hold(person), "it is interrupted")
                wait_past_twice(person)
                person.say(f"after-{words}!")
                person.sees(f"I heard after-{words}!.")
            person.say("exit")

            assert person.ends() == 0

        assert server.complaints == []
    results = outputs(repository)
    assert "a sample" in results[0]
    assert [("interrupted" in result) for result in results] == [False, True, True, True]
    assert processes_in(repository) == []


def test_killed_console_goes_on_with_a_valid_history(repository: Path) -> None:
    """PRV-01: what was pending when the process was killed counts as interrupted."""

    def answer(asked: Asked) -> Answer:
        if asked.newest.endswith("sleep"):
            reads = FakeCall(name="read_file", input={"path": "README.md"})
            sleeps = FakeCall(name="bash", input={"command": "sleep 49"})
            return Answer(calls=(reads, sleeps))
        return Answer(say=f"I heard {asked.newest.split()[-1]}.")

    with OpenAiServer(answer) as server:
        environment = {"OPENAI_BASE_URL": server.base_url, "OPENAI_API_KEY": "none"}
        arguments = ("--model", "openai:test", "--check", "true")
        with console(*arguments, cwd=repository, environment=environment) as person:
            person.sees(READY)
            person.say("sleep")
            person.waits(lambda: is_sleeping(repository, "49"), "the command runs")
            person.process.kill()
            assert person.ends() == -signal.SIGKILL
        with console(*arguments, "--resume", cwd=repository, environment=environment) as person:
            person.sees(READY, "resumed", "the last one")
            person.say("hello")
            person.sees("I heard hello.")
            person.say("exit")
            assert person.ends() == 0

        assert server.complaints == []
    assert "interrupted" in outputs(repository)[-1]
    assert processes_in(repository) == []


def is_on_hold(person: Console) -> bool:
    *_, told, line, status = person.lines
    return (line, status) == (">", "auto mode") and "(interrupted;" in told


def wait_past_twice(person: Console) -> None:
    """Lets a second pass, in which a second Ctrl-C would leave."""
    for _ in range(11):
        person.reads(0.1)
    person.settles()


def press_twice(person: Console) -> None:
    person.type(CTRL_C)
    person.type(CTRL_C)


WAYS_TO_LEAVE: dict[str, tuple[Callable[[Console], None], int]] = {
    "exit": (lambda person: person.say("exit"), 0),
    "ctrl-c twice": (press_twice, 130),
    "sigterm": (lambda person: person.process.send_signal(signal.SIGTERM), 143),
    "sighup": (lambda person: person.process.send_signal(signal.SIGHUP), 143),
    "closed terminal": (lambda person: person.hangs_up(), 143),
}


@pytest.mark.parametrize("way", WAYS_TO_LEAVE)
def test_leaving_while_workers_work_stops_them_and_keeps_their_work(
    way: str, repository: Path, tmp_path: Path
) -> None:
    leave, code = WAYS_TO_LEAVE[way]
    post = {"board_post_task": {"subject": "long", "description": "x"}}
    write = {"write_file": {"path": "half.py", "content": "half = 1\n"}}
    worker = {
        "agent": "*",
        "task": "long",
        "turns": [{"call": [write, {"bash": {"command": "sleep 48"}}]}],
    }
    spec = make_script(tmp_path, [*lead({"call": [post]}, {"say": "Posted."}), worker])
    with console("--model", spec, "--check", "true", cwd=repository) as person:
        person.sees(READY)
        person.say("go")
        person.sees("Posted.", "takes task 1")
        person.waits(lambda: is_sleeping(repository, "48"), "the worker's command runs")
        began = time.monotonic()
        leave(person)

        assert person.ends() == code
        assert time.monotonic() - began < STOPPED_SECONDS

        if way != "closed terminal":
            person.assert_given_back()
            assert "w1: stopped" in person.text
        assert_nothing_left(repository)
        assert not (repository / ".team" / "lead.lock").read_text()
        salvaged = subprocess.run(
            ["git", "for-each-ref", "refs/crewyard/salvage"],
            cwd=repository,
            capture_output=True,
            text=True,
            check=True,
            timeout=60,
        )
        assert "t1-1-long" in salvaged.stdout


def is_sleeping(repository: Path, seconds: str) -> bool:
    wanted = f"sleep\0{seconds}\0".encode()
    return any(command_line(pid) == wanted for pid in processes_in(repository))


def command_line(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:  # it has ended
        return b""


def test_ctrl_c_of_the_terminal_hits_no_worker(repository: Path, tmp_path: Path) -> None:
    """Once the terminal is given back, Ctrl-C is a signal to its foreground group again."""
    post = {"board_post_task": {"subject": "add one", "description": "x"}}
    spec = make_script(
        tmp_path,
        [
            *lead({"call": [post]}, {"say": "Posted.", "delay_seconds": 20}, {"say": "Landed."}),
            writing("add one", "one.py", "x = 1\n"),
        ],
    )
    with console("--model", spec, "--check", "true", cwd=repository) as person:
        person.sees(READY)
        person.say("go")
        person.sees("takes task 1")
        os.killpg(person.process.pid, signal.SIGINT)

        person.sees("(interrupted;", "has landed as")
        person.say("exit")
        assert person.ends() == 0


def test_cursor_and_deletion_go_by_what_a_person_sees(repository: Path, tmp_path: Path) -> None:
    spec = make_script(tmp_path, lead({"say": "Hello."}, {"say": "Bye."}))
    with console(
        *("--model", spec, "--check", "true"),
        cwd=repository,
        environment={"LANG": "C", "LC_ALL": "C"},
        columns=40,
    ) as person:
        person.sees(READY)
        person.type("漢字テスト👩‍👩‍👧e\u0301")
        person.settles()
        assert person.screen.cursor.x == 2 + 10 + 2 + 1
        person.type(LEFT * 2)
        person.settles()
        assert person.screen.cursor.x == 2 + 10
        person.type("\x1b[C" + BACKSPACE)
        person.settles()
        assert person.screen.cursor.x == 2 + 10
        person.type("\x05" + BACKSPACE + BACKSPACE)
        person.say("!")
        person.sees("Hello.")

        assert heard(repository) == ["漢字テス!"]

        person.type("漢字" * 12)
        person.settles()
        assert person.lines[-3:] == ["> " + "漢字" * 9 + "漢", "  字漢字漢字", "auto mode"]
        assert person.screen.cursor.x == 2 + 10


def test_resizing_leaves_one_line_to_type_on(repository: Path, tmp_path: Path) -> None:
    words = "words that go beyond the end of a narrow line"
    spec = make_script(tmp_path, lead({"say": "Hello. " * 20, "delay_seconds": 2}))
    with console("--model", spec, "--check", "true", cwd=repository, columns=60) as person:
        person.sees(READY)
        person.say("go")
        person.type(words)
        for columns in (25, 120, 40):
            person.resizes(columns, 50)
            person.settles()
            text = "".join(line[2:] for line in person.lines)

            assert text.count("words that go") == 1
            assert sum(line.startswith("> words") for line in person.lines) == 1


def test_board_aligns_wide_titles(repository: Path, tmp_path: Path) -> None:
    subjects = ("漢字のタスク", "plain", "한국어 작업")
    posts = [
        {"board_post_task": {"subject": s, "description": "x", "claim_role": "nobody"}}
        for s in subjects
    ]
    spec = make_script(tmp_path, lead({"call": posts}, {"say": "Posted."}))
    with console("--model", spec, cwd=repository) as person:
        person.sees(READY)
        person.say("go")
        person.sees("Posted.")
        person.say("/board")
        person.sees("status")
        person.settles()

        rows = [y for y, line in enumerate(person.screen.display) if re.match(r"\d  ", line)]
        assert len(rows) == 3
        for y in rows:
            cells = [person.screen.buffer[y][x].data for x in range(100)]
            assert [cell.isspace() for cell in cells[15:18]] == [True, True, False]


@pytest.mark.parametrize("variables", [{"TERM": "dumb"}, {"TERM": "dumb", "NO_COLOR": "1"}])
def test_dumb_terminal_gets_no_escape_sequence(
    variables: dict[str, str], repository: Path, tmp_path: Path
) -> None:
    fetch = {"bash": {"command": "curl -s https://example.com"}}
    spec = make_script(tmp_path, lead({"say": "Grüße, 漢字."}, {"call": [fetch]}, {"say": "Bye."}))
    with console(
        "--model", spec, "--check", "true", cwd=repository, environment=variables
    ) as person:
        person.sees(READY)
        person.say("hello")
        person.sees("Grüße, ")
        person.say("again")
        person.sees("y = yes")
        person.say("n")
        person.sees("Bye.")
        person.say("exit")

        assert person.ends() == 0

        assert b"\x1b" not in person.written
        assert heard(repository) == ["hello", "again"]


def test_no_color_means_no_colour(repository: Path, tmp_path: Path) -> None:
    spec = make_script(tmp_path, lead({"say": "Hello."}))
    environment = {"NO_COLOR": "1"}
    with console("--model", spec, cwd=repository, environment=environment) as person:
        person.sees(READY)
        person.say("hello")
        person.sees("Hello.")
        person.say("/nothing")
        person.say("exit")
        assert person.ends() == 0

        assert re.findall(rb"\x1b\[[0-9;]*\b(?:3[0-7]|9[0-7]|38|48)[0-9;]*m", person.written) == []


def test_trust_is_asked_first_and_not_answered_by_a_paste(repository: Path, tmp_path: Path) -> None:
    (repository / "team.toml").write_text('check = "false"\nmode = "default"\n')
    spec = make_script(tmp_path, lead({"say": "Hello."}))
    with console("--model", spec, cwd=repository) as person:
        person.sees("team.toml", "Use them? y/n")
        person.type(PASTE.format("y"))
        person.say("")
        person.sees("Type y or n")
        person.type(CTRL_D)
        assert person.ends() == 0
        assert READY not in person.text
    with console("--model", spec, cwd=repository) as person:
        person.sees("Use them? y/n")
        person.say("n")
        person.sees(READY, "check    none", "not used (`crewyard trust add`)")
        person.say("exit")
        assert person.ends() == 0
    with console("--model", spec, cwd=repository) as person:
        person.sees(READY, "check    none")


def test_trusted_settings_are_used_and_changed_ones_asked_about(
    repository: Path, tmp_path: Path
) -> None:
    (repository / "team.toml").write_text('check = "make first"\n')
    spec = make_script(tmp_path, lead({"say": "Hello."}))
    with console("--model", spec, cwd=repository) as person:
        person.sees("Use them? y/n")
        person.say("y")
        person.sees(READY, "make first")
    (repository / "team.toml").write_text('check = "make second"\n')
    with console("--model", spec, cwd=repository) as person:
        person.sees("other settings than", "make second", "Use them? y/n")


def test_failed_turn_is_one_line_and_the_console_goes_on(repository: Path) -> None:
    answers = [Answer(status=400, error_text="not today"), Answer(say="Now I can.")]
    with OpenAiServer(answers) as server:
        environment = {"OPENAI_BASE_URL": server.base_url, "OPENAI_API_KEY": "none"}
        with console("--model", "openai:m", cwd=repository, environment=environment) as person:
            person.sees(READY)
            person.say("hello")
            person.sees("not today")
            person.say("hello again")
            person.sees("Now I can.")
            person.say("exit")

            assert person.ends() == 0
            assert "Traceback" not in person.text


@pytest.mark.parametrize("stdout_is_closed", [False, True])
def test_goal_from_a_pipe_gets_plain_lines(
    stdout_is_closed: bool, repository: Path, tmp_path: Path
) -> None:
    post = {"board_post_task": {"subject": "add one", "description": "x"}}
    spec = make_script(
        tmp_path,
        [
            *lead({"say": "Grüße, 漢字 \x1b[31mred.", "call": [post]}, {"say": "Done."}),
            writing("add one", "one.py", "x = 1\n"),
        ],
    )
    reader = "head -1" if stdout_is_closed else "cat"
    argv = " ".join(f"'{word}'" for word in command("--model", spec, "--check", "true"))
    done = subprocess.run(
        ["bash", "-c", f"echo hi | {argv} | {reader}; echo code ${{PIPESTATUS[1]}}"],
        cwd=repository,
        env={**os.environ, "LANG": "C", "LC_ALL": "C", "TERM": "xterm-256color"},
        capture_output=True,
        timeout=100,
        check=True,
    )

    assert b"\x1b" not in done.stdout
    assert done.stderr == b""
    if stdout_is_closed:
        assert done.stdout.endswith(b"code 141\n")
    else:
        assert "Grüße, 漢字 \\x1b[31mred." in done.stdout.decode()
        assert done.stdout.decode().endswith("1 completed · 1 landed\ncode 0\n")
    assert_nothing_left(repository)


def test_goal_typed_while_the_output_goes_to_a_file(repository: Path, tmp_path: Path) -> None:
    spec = make_script(tmp_path, lead({"say": "Grüße."}))
    argv = " ".join(f"'{word}'" for word in command("--model", spec, "--check", "true"))
    with console(cwd=repository, program=["bash", "-c", f"{argv} > out.txt"]) as person:
        person.sees("Type the goal, then Ctrl-D.")
        person.say("hi")
        person.type(CTRL_D)

        assert person.ends() == 0

        assert heard(repository) == ["hi"]
        out = (repository / "out.txt").read_text()
        assert out.splitlines()[-1] == "Grüße."
        assert "\x1b" not in out


def test_slash_command_from_a_pipe_is_refused_with_what_to_use(repository: Path) -> None:
    ended = crewyard("--model", "scripted:missing.yaml", cwd=repository, stdin="/board\n")

    assert ended.code == 2
    assert "needs a terminal" in ended.err


def test_json_is_for_runs_without_a_person(repository: Path, tmp_path: Path) -> None:
    spec = make_script(tmp_path, lead({"say": "Hello."}))

    ended = crewyard("--model", spec, "--check", "true", "--json", cwd=repository, stdin="hi")

    assert ended.document["result"] == "Hello."
    with console("--model", spec, "--json", cwd=repository) as person:
        assert person.ends() == 2
        assert "is for runs without a person" in person.text.replace("\n", " ")


@pytest.mark.parametrize("given", ["", " \n", "exit\n"])
def test_no_goal_from_a_pipe_ends_at_once(given: str, repository: Path) -> None:
    ended = crewyard("--model", "scripted:missing.yaml", cwd=repository, stdin=given)

    assert (ended.code, ended.out, ended.err) == (0, "", "")


def test_question_without_a_person_is_a_no(repository: Path, tmp_path: Path) -> None:
    """PRM-03: nobody is there to ask, so the call is refused at once."""
    fetch = {"bash": {"command": "curl -s https://example.com"}}
    spec = make_script(tmp_path, lead({"call": [fetch]}, {"expect": "denied", "say": "So be it."}))

    ended = crewyard("--model", spec, "--check", "true", cwd=repository, stdin="fetch")

    assert ended.code == 0
    assert "So be it." in ended.out
    assert "bash was refused" in ended.out

"""What a model is given to sum up has every word, and fits."""

from hypothesis import given
from hypothesis import strategies as st

from modules.context.token_count import text_tokens
from modules.context.transcript import both_ends, pieces, transcript
from modules.records.messages import Text, said
from modules.records.session_records import Memory
from tests.providers.making import answered, call, output, told, words


def test_transcript_tells_who_said_what_and_both_ends_of_the_rest() -> None:
    memory = Memory(opening=(Text(text="the task"),), words=("use tabs",), summary="told apart")
    long = "a" * 1_000 + "b" * 1_000

    entries = transcript(
        memory,
        [
            said("go"),
            answered(words("ok"), call(input={"command": "ls", "n": 1})),
            told(output(text=long), output(text="no such file", is_error=True)),
        ],
    )

    assert entries == [
        "USER: the task",
        "USER: use tabs",
        "USER: go",
        "AGENT: ok",
        "CALL bash: command='ls', n=1",
        f"RESULT: {'a' * 300}\n[… 1400 characters …]\n{'b' * 300}",
        "ERROR: no such file",
    ]


@given(
    st.lists(st.text(max_size=400).map(lambda text: text + "日本" * len(text)), max_size=20),
    st.integers(min_value=50, max_value=500),
)
def test_pieces_fit_in_their_room_and_keep_the_newest(entries: list[str], room: int) -> None:
    made = pieces(entries, room=room)

    assert all(text_tokens(piece) <= room + len(entries) + 20 for piece in made)
    if entries:
        assert made[-1].endswith(entries[-1][-room // 2 :])


def test_entries_that_fit_are_one_piece() -> None:
    assert pieces(["a", "b"], room=100) == ["a\n\nb"]
    assert pieces([], room=100) == []


def test_both_ends_of_a_short_text_are_the_text() -> None:
    assert both_ends("abcd", 2) == "abcd"
    assert both_ends("abcde", 2) == "ab\n[… 1 characters …]\nde"

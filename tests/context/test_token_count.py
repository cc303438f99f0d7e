"""Tokens are estimated so that no script and no block is taken for nothing."""

import pytest

from modules.context.token_count import head_tokens, history_tokens, message_tokens, text_tokens
from modules.records.messages import Message, Reasoning
from tests.providers.making import BASH, answered, call, output, told, words


@pytest.mark.parametrize(
    ("text", "tokens"),
    [("", 0), ("a", 1), ("abcdefgh", 2), ("日本語日", 3), ("\ud800", 1)],
)
def test_text_takes_a_token_for_four_bytes(text: str, tokens: int) -> None:
    assert text_tokens(text) == tokens


@pytest.mark.parametrize(
    "message",
    [
        answered(words("x" * 400)),
        answered(call(input={"command": "x" * 400})),
        answered(call(input={"deep": {"list": ["x" * 400]}})),
        answered(Reasoning(origin="p:m", text="x" * 200, signature="y" * 200)),
        told(output(text="x" * 400)),
    ],
    ids=["words", "input", "deep input", "reasoning", "output"],
)
def test_every_kind_of_block_counts(message: Message) -> None:
    assert 100 <= message_tokens(message) < 130
    assert history_tokens([message, message]) == 2 * message_tokens(message)


def test_head_counts_the_prompt_and_what_is_told_of_the_tools() -> None:
    assert head_tokens("x" * 400, ()) == 100
    assert head_tokens("x" * 400, (BASH,)) > 110

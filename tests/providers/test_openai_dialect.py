"""A server's complaint about one field is answered once, and only where an answer is known."""

import pytest

from modules.providers.openai_dialect import Dialect, learn


@pytest.mark.parametrize(
    ("before", "complaint", "after"),
    [
        (
            Dialect(),
            "Unsupported parameter: 'max_tokens' is not supported with this model. "
            "Use 'max_completion_tokens' instead.",
            Dialect(max_tokens_field="max_completion_tokens"),
        ),
        (
            Dialect(max_tokens_field="max_completion_tokens"),
            "Unrecognized request argument supplied: max_completion_tokens",
            Dialect(),
        ),
        (
            Dialect(),
            "max_tokens is too large: 16000. This model supports at most 4096 completion tokens.",
            Dialect(output_limit=4096),
        ),
        (Dialect(), "Range of max_tokens should be [1, 8192]", Dialect(output_limit=8192)),
        (
            Dialect(),
            "[] Extra inputs are not permitted: stream_options",
            Dialect(asks_usage=False),
        ),
        (
            Dialect(),
            "The reasoning_content in the thinking mode must be passed back to the API.",
            Dialect(reasoning_field="reasoning_content"),
        ),
        (
            Dialect(reasoning_field="reasoning_content"),
            "messages[1]: property 'reasoning_content' is unsupported",
            Dialect(),
        ),
        (Dialect(), "missing field `reasoning`", Dialect(reasoning_field="reasoning")),
        (
            Dialect(),
            "Function tools with reasoning_effort are not supported for gpt-6-sol in "
            "/v1/chat/completions. To use function tools, use /v1/responses or set "
            "reasoning_effort to 'none'.",
            Dialect(reasoning_effort="none"),
        ),
    ],
    ids=[
        "newer field",
        "older field",
        "limit",
        "range",
        "usage",
        "reasoning wanted",
        "reasoning refused",
        "other name",
        "effort",
    ],
)
def test_a_complaint_about_the_form_is_learnt_from(
    before: Dialect, complaint: str, after: Dialect
) -> None:
    assert learn(before, complaint, wanted_tokens=16_000) == after


@pytest.mark.parametrize(
    "complaint",
    [
        "Invalid schema for function 'bash'",
        "model 'gpt-4-0613' does not exist",
        "",
        "Your reasoning is refused",
    ],
    ids=["schema", "model", "nothing", "prose"],
)
def test_a_complaint_about_something_else_changes_nothing(complaint: str) -> None:
    assert learn(Dialect(), complaint, wanted_tokens=16_000) is None

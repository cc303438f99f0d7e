import base64
from typing import Any

import pytest

from modules.mcp_client.results import MAX_RESULT_CHARACTERS, adapt_result
from modules.mcp_client.values import McpResult


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def data(size: int) -> str:
    return base64.b64encode(b"x" * size).decode()


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        pytest.param([text("a"), text("b")], "a\nb", id="texts"),
        pytest.param(
            [{"type": "image", "mimeType": "image/png", "data": data(1234)}],
            "[image: image/png, 1.2 kB; not shown]",
            id="image-alone",
        ),
        pytest.param(
            [{"type": "image", "mimeType": "image/png", "data": data(30_000_000)}],
            "[image: image/png, 30.0 MB; not shown]",
            id="image-of-30-MB",
        ),
        pytest.param(
            [{"type": "audio", "mimeType": "audio/wav", "data": data(10)}],
            "[audio: audio/wav, 10 bytes; not shown]",
            id="audio-alone",
        ),
        pytest.param(
            [
                {
                    "type": "resource",
                    "resource": {"uri": "file:///a.py", "mimeType": "text/x-python", "text": "x=1"},
                },
                text("1 file read"),
            ],
            "[resource file:///a.py (text/x-python)]\nx=1\n1 file read",
            id="text-resource-and-status",
        ),
        pytest.param(
            [{"type": "resource", "resource": {"uri": "file:///a.bin", "blob": data(3)}}],
            "[resource file:///a.bin: type unknown, 3 bytes; not shown]",
            id="binary-resource",
        ),
        pytest.param(
            [
                {
                    "type": "resource_link",
                    "uri": "file:///b.txt",
                    "name": "b.txt",
                    "mimeType": "text/plain",
                    "size": 12,
                }
            ],
            "[link to file:///b.txt: b.txt, text/plain, 12 bytes]",
            id="resource-link",
        ),
        pytest.param(
            [{"type": "hologram", "x": 1}],
            "[block of type 'hologram', 28 characters; not shown]",
            id="unknown-block",
        ),
        pytest.param(
            [{"type": "image"}],
            "[image: type unknown, no data; not shown]",
            id="image-without-data",
        ),
        pytest.param(
            [{"type": "text", "text": None}],
            "[block of type 'text', 30 characters; not shown]",
            id="text-without-text",
        ),
        pytest.param(["a"], "[3 characters that is no block of content; not shown]", id="no-block"),
        pytest.param([], "(The tool said nothing.)", id="nothing"),
        pytest.param([text(" \n")], "(The tool said nothing.)", id="blank"),
        pytest.param(None, "(The tool said nothing.)", id="no-content"),
        pytest.param([text("a\ud800b")], "a\ufffdb", id="surrogate"),
    ],
)
def test_content_becomes_words_that_leave_nothing_out(content: object, expected: str) -> None:
    assert adapt_result({"content": content}) == McpResult(text=expected)


def test_structured_content_stands_as_json_where_no_block_holds_words() -> None:
    image = {"type": "image", "mimeType": "image/png", "data": ""}

    only = adapt_result({"content": [], "structuredContent": {"n": 1, "é": None}})
    beside_an_image = adapt_result({"content": [image], "structuredContent": {"n": 1}})
    beside_words = adapt_result({"content": [text("n is 1")], "structuredContent": {"n": 1}})

    assert only == McpResult(text='{"n": 1, "é": null}')
    assert beside_an_image == McpResult(text='[image: image/png, 0 bytes; not shown]\n{"n": 1}')
    assert beside_words == McpResult(text="n is 1")


def test_error_stays_an_error_and_is_never_silent() -> None:
    assert adapt_result({"content": [text("no")], "isError": True}) == McpResult(
        text="no", is_error=True
    )
    assert adapt_result({"isError": True}) == McpResult(
        text="(The tool failed and said nothing.)", is_error=True
    )


def test_result_when_huge_is_cut_and_says_so() -> None:
    result = adapt_result({"content": [text("x" * (MAX_RESULT_CHARACTERS + 1))]})

    assert len(result.text) == MAX_RESULT_CHARACTERS
    assert result.text.endswith("x\n[cut here: the result has 10000001 characters]")


def test_structured_content_when_nested_without_end_is_told_of() -> None:
    nested: list[Any] = []
    for _ in range(100_000):
        nested = [nested]

    result = adapt_result({"structuredContent": nested})

    assert result == McpResult(text="[nested too deeply to be shown]")

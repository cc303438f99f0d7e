"""Pages become text a model can read, whatever is in them; reading one never takes for ever."""

import asyncio

import pytest

from modules.records.errors import ModelFault
from modules.records.web import Page
from tools.web import READ_BYTES, page_text


def text_of(body: str | bytes, content_type: str = "text/html", charset: str = "utf-8") -> str:
    data = body.encode() if isinstance(body, str) else body
    page = Page(
        url="https://docs.example.org/guide/",
        status=200,
        content_type=content_type,
        charset=charset,
        body=data,
    )
    return asyncio.run(page_text(page))


@pytest.mark.slow
def test_html_becomes_markdown_with_whole_links_and_without_what_is_not_read() -> None:
    found = text_of(
        "<html><head><title>A guide</title><style>p {color: red}</style></head><body>"
        "<script>steal()</script><h2>Begin</h2><p>See <a href='../x?y=1'>this</a>.</p>"
        "<ul><li>one</li><li>two</li></ul><pre>a\n  b</pre>"
        "<img alt='logo' src='data:image/png;base64,QUFB'>"
        "</body></html>"
    )

    assert found == (
        "Title: A guide\n\n## Begin\n\nSee [this](https://docs.example.org/x?y=1).\n\n"
        "- one\n- two\n\n```\na\n  b\n```\n\nlogo"
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("body", "charset"),
    [
        ("<p>Grüße</p>".encode("latin-1"), "iso-8859-1"),
        ('<meta charset="iso-8859-1"><p>Grüße</p>'.encode("latin-1"), ""),
        ("<p>Grüße</p>".encode(), "utf-8"),
        ("<p>Grüße</p>".encode(), "no-such-set"),
    ],
)
def test_page_is_read_in_the_letters_it_was_written_in(body: bytes, charset: str) -> None:
    assert text_of(body, charset=charset) == "Grüße"


@pytest.mark.slow
def test_page_that_does_not_say_what_it_is_is_looked_at() -> None:
    assert text_of("<!DOCTYPE html><p>hi</p>", content_type="") == "hi"
    assert text_of("a < b", content_type="") == "a < b"


@pytest.mark.slow
@pytest.mark.parametrize(
    "body",
    [
        pytest.param("<div>" * 60_000 + "the middle" + "</div>" * 60_000, id="deep"),
        pytest.param("<b><i>" * 2_000 + "the middle", id="never-closed"),
    ],
)
def test_page_nested_without_end_is_still_read(body: str) -> None:
    assert "the middle" in text_of(body)


@pytest.mark.slow
def test_large_page_is_read_as_far_as_it_takes_a_limited_time() -> None:
    row = "<p>word </p>"
    found = text_of("<div>" + row * (READ_BYTES // len(row) + 1_000) + "</div>")

    assert found.startswith("word")
    assert "bytes of the page were not read]" in found


@pytest.mark.parametrize("charset", ["", "utf-8", "no-such-set"])
def test_plain_text_is_returned_as_it_is(charset: str) -> None:
    assert text_of('{"a": "ü"}', "application/json", charset) == '{"a": "ü"}'


def test_text_that_is_none_is_refused() -> None:
    with pytest.raises(ModelFault, match="is none"):
        text_of(b"a\0b", "text/plain")

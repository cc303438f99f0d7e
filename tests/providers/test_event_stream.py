"""Server-sent events come out the same however the bytes were cut."""

from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from modules.providers.event_stream import EventStream

_BODY = (
    b": a comment\r\nevent: ping\r\ndata: {}\r\n\r\n"
    b'data: {"a": "\xc3\xa9"}\n\n'
    b'event: x\ndata:{"b":\ndata: 1}\n\n'
    b"\n\nid: 7\n\ndata: [DONE]"
)
_EVENTS = [b"{}", b'{"a": "\xc3\xa9"}', b'{"b":\n1}', b"[DONE]"]


@settings(deadline=None)
@given(st.lists(st.integers(0, len(_BODY)), max_size=12))
def test_events_are_the_same_however_the_bytes_are_cut(cuts: list[int]) -> None:
    edges = [0, *sorted(cuts), len(_BODY)]
    stream = EventStream()

    events = [data for start, end in pairwise(edges) for data in stream.feed(_BODY[start:end])]

    assert events + stream.finish() == _EVENTS


def test_an_event_without_its_blank_line_counts_at_the_end_alone() -> None:
    stream = EventStream()

    assert stream.feed(b"data: 1\n") == []
    assert stream.finish() == [b"1"]
    assert stream.finish() == []

"""What fetching an address gives."""

from modules.records.record import Record


class Page(Record):
    """What a server answered."""

    url: str
    """Where it lies in the end, redirects followed."""
    status: int
    content_type: str
    """In lower case and without parameters; empty where the server did not say."""
    charset: str = ""
    """As the server named it; empty where it did not."""
    body: bytes


class Elsewhere(Record):
    """A redirect that was not followed: it leads to a place that is to be judged first."""

    url: str
    is_downgrade: bool = False
    """True where it only leaves https for http."""

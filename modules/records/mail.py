"""Messages between agents."""

from datetime import datetime

from modules.records.record import Record


class MailRecord(Record, tag_field="kind"):
    """A line of the mail's journal."""

    at: datetime


class MailSent(MailRecord, tag="sent"):
    """Somebody wrote to somebody; the lead stamps the sender."""

    mail_id: int
    sender: str
    to: str
    body: str
    """Its head where `whole` says more."""
    whole: str = ""
    """Name of the file below `.team/outputs` that holds all of it; empty: the body is all."""
    characters: int = 0
    """Of the whole message, where that is more than its body."""


class MailRead(MailRecord, tag="read"):
    """The turn that carried the message is on disk."""

    mail_id: int


AnyMailRecord = MailSent | MailRead

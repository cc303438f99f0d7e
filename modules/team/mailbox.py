"""Mail between agents: one journal, ids, read marks; delivered once, in the order it was sent."""

import html
import re
from collections.abc import Callable, Iterable
from datetime import datetime

from modules.records.errors import ModelFault
from modules.records.mail import AnyMailRecord, MailRead, MailSent
from modules.store.journal import Journal
from modules.store.paths import Paths

LONGEST_BODY_CHARACTERS = 100_000
_OUR_TAG = re.compile(r"<(?=\s*/?\s*(?:message|team-events)\b)", re.I)


class Mailbox:
    """The mail of one repository."""

    def __init__(self, paths: Paths, *, clock: Callable[[], datetime]) -> None:
        self._clock = clock
        self._unread: dict[int, MailSent] = {}
        self._last_id = 0
        self._journal: Journal[AnyMailRecord] = Journal(
            paths.mail, AnyMailRecord, apply=self._apply
        )

    def send(self, *, sender: str, to: Iterable[str], body: str) -> int:
        """Puts a message to each recipient on disk and returns how many there are."""
        if not body.strip():
            raise ModelFault("A message needs words.")
        if len(body) > LONGEST_BODY_CHARACTERS:
            raise ModelFault(
                f"The message has {len(body)} characters; the most is {LONGEST_BODY_CHARACTERS}. "
                "Write the rest to a file and name it."
            )
        recipients = list(dict.fromkeys(to))
        self._journal.append(
            lambda: [
                MailSent(
                    at=self._clock(),
                    mail_id=self._last_id + number,
                    sender=sender,
                    to=recipient,
                    body=body,
                )
                for number, recipient in enumerate(recipients, start=1)
            ]
        )
        return len(recipients)

    def unread(self, reader: str) -> list[MailSent]:
        """Returns what `reader` has not read, oldest first."""
        self._journal.catch_up()
        return [self._unread[key] for key in sorted(self._unread) if self._unread[key].to == reader]

    def mark_read(self, letters: Iterable[MailSent]) -> None:
        """Notes that the turns which carried the messages are on disk."""
        ids = [letter.mail_id for letter in letters]
        self._journal.append(
            lambda: [
                MailRead(at=self._clock(), mail_id=mail_id)
                for mail_id in ids
                if mail_id in self._unread
            ]
        )

    def _apply(self, record: AnyMailRecord) -> None:
        match record:
            case MailSent():
                self._last_id = max(self._last_id, record.mail_id)
                self._unread[record.mail_id] = record
            case MailRead():
                # The letter's own line may be unreadable; its id is used up all the same.
                self._last_id = max(self._last_id, record.mail_id)
                self._unread.pop(record.mail_id, None)


def mail_text(letters: Iterable[MailSent]) -> str:
    """Returns messages as one block of text for an agent's conversation.

    No body can look as if it were another message, or from somebody else.
    """
    return "\n".join(
        f'<message from="{html.escape(letter.sender)}" sent="{letter.at:%H:%M:%S}">\n'
        f"{without_our_tags(letter.body)}\n</message>"
        for letter in letters
    )


def without_our_tags(text: str) -> str:
    """Returns text that can neither end nor begin what an agent is told by us."""
    return _OUR_TAG.sub("&lt;", text)

"""Mail between agents: one journal, ids, read marks; delivered once, in the order it was sent.

Of a long message the journal holds the head; all of it is in a file that is on disk before.
"""

import hashlib
import html
import re
from collections.abc import Callable, Iterable
from datetime import datetime
from pathlib import Path

from modules.records.errors import ModelFault, PersonFault
from modules.records.exits import Exit
from modules.records.mail import AnyMailRecord, MailRead, MailSent
from modules.store.files import write_atomically
from modules.store.journal import Journal
from modules.store.paths import Paths

LARGEST_BODY_BYTES = 1_000_000
LONGEST_BODY_CHARACTERS = 8_000
"""Of a message that is told as a whole."""
HEAD_CHARACTERS = 4_000
"""Of a longer one, told with the file that holds all of it."""
_OUR_TAG = re.compile(r"<(?=\s*/?\s*(?:message|team-events|memory)\b)", re.I)


class Mailbox:
    """The mail of one repository."""

    def __init__(self, paths: Paths, *, clock: Callable[[], datetime]) -> None:
        self._clock = clock
        self.folder = paths.outputs
        """Where the whole of long messages is kept."""
        self._unread: dict[int, MailSent] = {}
        self._last_id = 0
        self._journal: Journal[AnyMailRecord] = Journal(
            paths.mail, AnyMailRecord, apply=self._apply
        )

    def send(self, *, sender: str, to: Iterable[str], body: str) -> int:
        """Puts a message to each recipient on disk and returns how many there are."""
        if not body.strip():
            raise ModelFault("A message needs words.")
        size_bytes = len(body.encode())
        if size_bytes > LARGEST_BODY_BYTES:
            raise ModelFault(
                f"The message has {size_bytes} bytes; the most is {LARGEST_BODY_BYTES}. "
                "Write the rest to a file and name it."
            )
        recipients = list(dict.fromkeys(to))
        whole = self._kept(body) if recipients and len(body) > LONGEST_BODY_CHARACTERS else ""
        self._journal.append(
            lambda: [
                MailSent(
                    at=self._clock(),
                    mail_id=self._last_id + number,
                    sender=sender,
                    to=recipient,
                    body=body[:HEAD_CHARACTERS] if whole else body,
                    whole=whole,
                    characters=len(body) if whole else 0,
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

    def whole_text(self, letter: MailSent) -> bytes | None:
        """Returns all of a long message; None where its file has been swept away meanwhile."""
        try:
            return (self.folder / letter.whole).read_bytes()
        except FileNotFoundError:
            return None

    def _kept(self, body: str) -> str:
        """Writes a body to a file named after its content and returns the name."""
        content = without_our_tags(body).encode()
        name = f"mail-{hashlib.sha256(content).hexdigest()[:16]}.txt"
        try:
            write_atomically(self.folder / name, content)
        except OSError as error:
            raise PersonFault(
                f"A long message can't be written to {self.folder}: {error.strerror}.",
                hint="Make room on that disk, and that folder one you may write.",
                exit_code=Exit.FAILED,
            ) from error
        return name

    def _apply(self, record: AnyMailRecord) -> None:
        match record:
            case MailSent():
                self._last_id = max(self._last_id, record.mail_id)
                self._unread[record.mail_id] = record
            case MailRead():
                # The letter's own line may be unreadable; its id is used up all the same.
                self._last_id = max(self._last_id, record.mail_id)
                self._unread.pop(record.mail_id, None)


def mail_text(letters: Iterable[MailSent], *, kept_in: Path) -> str:
    """Returns messages as one block of text for an agent's conversation.

    `kept_in` is where the reader finds the whole of long ones. No body can look as if it were
    another message, or from somebody else.
    """
    return "\n".join(
        f'<message from="{html.escape(letter.sender)}" sent="{letter.at:%H:%M:%S}">\n'
        f"{without_our_tags(letter.body)}{_rest(letter, kept_in)}\n</message>"
        for letter in letters
    )


def _rest(letter: MailSent, kept_in: Path) -> str:
    if not letter.whole:
        return ""
    return (
        f"\n[These are {len(letter.body)} of {letter.characters} characters. The whole message is "
        f"in {kept_in / letter.whole}; read_file shows it.]"
    )


def without_our_tags(text: str) -> str:
    """Returns text that can neither end nor begin what an agent is told by us."""
    return _OUR_TAG.sub("&lt;", text)

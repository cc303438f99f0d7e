"""What flows into a command: downloads, decoded text, text that is written out; pure."""

import re
from collections.abc import Iterable, Iterator

from modules.safety.shell_case import Case
from modules.safety.shell_options import read_options
from modules.safety.shell_script import Call, Direction
from modules.safety.shell_tables import DOWNLOADERS, names
from modules.safety.shell_words import Word

_DECODERS = names("base64 base32 basenc xxd openssl gpg gunzip zcat gzip uudecode rev tr")
_FETCHERS = DOWNLOADERS | names(
    "http https xh nc ncat netcat socat telnet ssh gh aws gsutil lynx w3m links elinks openssl scp"
    " sftp ftp lftp tftp rclone s3cmd gcloud grpcurl websocat"
)
"""Programs whose output may come from another machine."""
_PRINTERS = names("echo printf cat")


def loose_paths(words: Iterable[Word]) -> Iterator[Word]:
    """Yields whatever in a program's arguments may name a file."""
    for word in words:
        text = word.text
        if " " in text or "\n" in text or ("://" in text and not text.startswith("file://")):
            continue
        if not text.startswith("-"):
            yield word
        for part in re.split(r"[=@:,;<]", text):
            if part and part != text:
                yield Word(raw=part, pattern=part)
        if text.startswith("file://"):
            yield Word(raw=text[7:], pattern=text[7:])


def fetches(case: Case, places: Iterable[int]) -> bool:
    """True when one of the commands, or one in their words, gets text from the network."""
    calls = case.script.calls
    seen: set[int] = set()
    pending = list(places)
    while pending:
        place = pending.pop()
        if place not in seen:
            seen.add(place)
            pending.extend(calls[place].inside)
            if any(_is_fetching(word.text) for word in calls[place].words[:3]):
                return True
    return False


def is_decoding(call: Call) -> bool:
    """True for a command that turns unreadable text into readable one."""
    words = [word.text for word in call.words]
    if not words or words[0].rsplit("/", 1)[-1] not in _DECODERS:
        return False
    return words[0] in ("rev", "tr", "gunzip", "zcat", "uudecode") or any(
        re.fullmatch(r"-\w*[dDr]\w*|--decode|enc|--decrypt", word) for word in words[1:]
    )


def printed_before(case: Case) -> list[str]:
    """Returns what the commands before this one in the pipe print, where it is written out."""
    printed = []
    for place in case.call.upstream:
        call = case.script.calls[place]
        words = [word.text for word in call.words]
        if words and words[0] in _PRINTERS:
            text = " ".join(word for word in words[1:] if not re.fullmatch(r"-[neE]+", word))
            printed.append(call.input_text if words[0] == "cat" else text)
    return [text for text in printed if text]


def has_downloads(case: Case) -> bool:
    """True when some command of the script gets text from the network."""
    return fetches(case, range(len(case.script.calls)))


def downloaded(case: Case) -> set[str]:
    """Returns the names of files that downloads in the same script made."""
    made: set[str] = set()
    for call in case.script.calls:
        words = [word.text for word in call.words]
        if words[:1] == ["tee"] and fetches(case, call.upstream):
            made.update(word.rsplit("/", 1)[-1] for word in words[1:])
        if not words or not _is_fetching(words[0]):
            continue
        options = read_options(call.words[1:], names("-o -O --output --output-document -P -H -d"))
        targets = options.values("-o", "--output", "-O", "--output-document")
        urls = [word.text for word in options.operands]
        made.update(word.text.rsplit("/", 1)[-1] for word in targets)
        made.update(url.split("?")[0].rstrip("/").rsplit("/", 1)[-1] for url in urls)
    for redirect in case.script.redirects:
        if redirect.direction is Direction.WRITE and fetches(case, redirect.calls):
            made.add(redirect.target.text.rsplit("/", 1)[-1])
    return {name for name in made if name}


def _is_fetching(name: str) -> bool:
    return name.rsplit("/", 1)[-1] in _FETCHERS

"""What of a conversation is sent on when it gets too long for its model; pure.

1. It is due once the provider's own count of the last request and its answer, with an estimate of
   what was added since, passes the window less a reserve for the next answer.
2. First the outputs of all but the last steps give way, each to a line that names the file it is
   in. Of a tool whose last result stands (a plan) the newest one stays.
3. Where that is not enough, all but the last steps become a memory. It holds, unchanged: the first
   words, what was said later (the newest, as far as there is room; mail last), the results that
   stand. The rest of it is a summary.
4. Where that is not enough either, the longest texts are cut to both of their ends, shorter each
   time. What does not fit then can't be sent.
5. A step is an answer with what came back to it; it stays whole or goes whole, so a call never
   loses its output. A memory is one message of the user, and a step begins with an answer.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise

from msgspec.structs import replace

from modules.context.token_count import text_tokens
from modules.records.messages import Block, Message, Reasoning, Text, ToolCall, ToolOutput
from modules.records.record import Record
from modules.records.session_records import Memory

KEPT_STEPS = 4
"""Steps whose outputs are left alone while there is another way."""
SHORT_CHARACTERS = 500
"""An output that is not longer is left alone."""
CUTS = (20_000, 5_000, 1_200)
"""To how many characters the longest texts are cut, one after the other."""
FILES_REMEMBERED = 20
_MOST_ANSWER_TOKENS = 16_000
_EVENTS = re.compile(r"<team-events>.*?</team-events>", re.DOTALL)
_MAIL = re.compile(r"<message .*?</message>", re.DOTALL)
_SPILLED = re.compile(r"the whole text is in (?P<path>.+?)\]\n")

LayBy = Callable[[str, str], str]
"""Takes a name and a text; keeps the text in a file, and says in words where it is."""


class Window(Record):
    """A model's context window, and what of it is used."""

    tokens: int

    @property
    def answer(self) -> int:
        """The most tokens of one answer."""
        return min(_MOST_ANSWER_TOKENS, self.tokens // 4)

    @property
    def limit(self) -> int:
        """From how many tokens on a conversation is compacted before it is sent."""
        return self.tokens - self.answer - self.tokens // 20


def step_starts(messages: Sequence[Message]) -> list[int]:
    """Returns where steps begin: at each answer that does not follow another one."""
    return [
        place
        for place, message in enumerate(messages)
        if message.role == "assistant" and (place == 0 or messages[place - 1].role == "user")
    ]


def last_steps(messages: Sequence[Message], *, room: int, most: int, size: Sequence[int]) -> int:
    """Returns where the last steps begin that fit in `room`, `most` at most and at least one.

    `size` has the tokens of each message.
    """
    start = len(messages)
    for count, begin in enumerate(reversed(step_starts(messages)), start=1):
        if count > 1 and (count > most or sum(size[begin:]) > room):
            break
        start = begin
    return start


def without_old_outputs(
    messages: Sequence[Message], *, standing: frozenset[str], lay_by: LayBy
) -> list[Message]:
    """Returns the messages with the long outputs of old steps in files.

    `standing` has the tools whose newest result stays.
    """
    starts = step_starts(messages)
    cut = starts[-KEPT_STEPS] if len(starts) >= KEPT_STEPS else 0
    stays = {call_id for call_id, _ in _newest_results(messages, standing).values()}

    def reduced(block: Block) -> Block:
        is_old = isinstance(block, ToolOutput) and block.call_id not in stays
        if not is_old or not isinstance(block, ToolOutput) or len(block.text) <= SHORT_CHARACTERS:
            return block
        return replace(block, text=_note_for(block, lay_by))

    old = [replace(m, blocks=tuple(reduced(block) for block in m.blocks)) for m in messages[:cut]]
    return [*old, *messages[cut:]]


def remembered(
    memory: Memory | None,
    dropped: Sequence[Message],
    kept: Sequence[Message],
    *,
    summary: str,
    standing: frozenset[str],
    room: int,
) -> Memory:
    """Returns the memory of what `memory` and `dropped` told; `room` is for words said later."""
    if memory is None:
        first, later = _opening(dropped)
        memory = Memory(opening=first)
    else:
        later = dropped
    called = {call.name for message in kept for call in message.calls}
    found = {name: text for name, (_, text) in _newest_results(later, standing).items()}
    results = {name: text for name, text in (memory.results | found).items() if name not in called}
    files = [*memory.files, *_files(later)]
    return replace(
        memory,
        words=_newest_words([*memory.words, *_said(later)], room),
        summary=summary,
        results=results,
        files=tuple(reversed(list(dict.fromkeys(reversed(files)))[:FILES_REMEMBERED])),
        answers=memory.answers + sum(m.role == "assistant" for m in later),
    )


def memory_message(memory: Memory, facts: str) -> Message:
    """Returns a memory as the message that stands in place of what it tells of."""
    parts = ["The conversation was compacted to save room. This stands for its beginning."]
    if memory.words:
        parts.append("Said to you after the first words, oldest first; it still holds:")
        parts += [f"<said>\n{words}\n</said>" for words in memory.words]
    if memory.summary:
        parts.append(f"Your summary of what happened:\n<summary>\n{memory.summary}\n</summary>")
    parts += [f"Your newest {name}:\n{text}" for name, text in memory.results.items()]
    if memory.files:
        listed = ", ".join(memory.files)
        parts.append(f"Files you named: {listed}. Read again what you need of them.")
    if facts:
        parts.append(facts)
    parts.append("Go on from here. What is done needs no second time.")
    told = "<memory>\n" + "\n\n".join(parts) + "\n</memory>"
    return Message(role="user", blocks=(*memory.opening, Text(text=told)))


def shortened_memory(memory: Memory, limit: int, lay_by: LayBy) -> Memory:
    """Returns the memory with every text cut to at most `limit` characters and a note."""
    return replace(
        memory,
        opening=tuple(Text(text=_ends(block.text, limit, lay_by)) for block in memory.opening),
        words=tuple(_ends(words, limit, lay_by) for words in memory.words),
        summary=_ends(memory.summary, limit, lay_by),
        results={name: _ends(text, limit, lay_by) for name, text in memory.results.items()},
    )


def shortened(message: Message, limit: int, lay_by: LayBy) -> Message:
    """Returns the message with every text cut to at most `limit` characters and a note."""

    def cut(block: Block) -> Block:
        match block:
            case Text(text=text) | ToolOutput(text=text):
                return replace(block, text=_ends(text, limit, lay_by))
            case ToolCall(input=given):
                short = {
                    key: _ends(value, limit, lay_by) if isinstance(value, str) else value
                    for key, value in given.items()
                }
                return replace(block, input=short)
            case Reasoning():
                return block

    # Reasoning can't be cut, only left out.
    spoken = [block for block in message.blocks if not isinstance(block, Reasoning)]
    return replace(message, blocks=tuple(cut(block) for block in spoken or message.blocks))


def _note_for(output: ToolOutput, lay_by: LayBy) -> str:
    spilled = _SPILLED.search(output.text)
    if spilled is not None:
        where = f"the whole text is in {spilled['path']}"
    else:
        where = lay_by(output.call_id, output.text)
    return f"[This output of {len(output.text)} characters is left out to save room; {where}]"


def _ends(text: str, limit: int, lay_by: LayBy) -> str:
    if len(text) <= limit:
        return text
    half = limit // 2
    note = f"[{len(text) - 2 * half} characters left out to save room; {lay_by('text', text)}]"
    return f"{text[:half]}\n{note}\n{text[-half:]}"


def _opening(messages: Sequence[Message]) -> tuple[tuple[Text, ...], Sequence[Message]]:
    """Returns the first words, and the messages after them."""
    if not messages or messages[0].role != "user":
        return (), messages
    first, *later = messages
    return tuple(block for block in first.blocks if isinstance(block, Text)), later


def _said(messages: Iterable[Message]) -> list[str]:
    """Returns what was said to the agent, mail by itself; how the crew stands is told anew."""
    said: list[str] = []
    for message in messages:
        for block in message.blocks:
            if message.role == "user" and isinstance(block, Text):
                text = _EVENTS.sub("", block.text)
                said += [_MAIL.sub("", text).strip(), *_MAIL.findall(text)]
    return [text for text in said if text]


def _newest_words(words: Sequence[str], room: int) -> tuple[str, ...]:
    """Returns the newest words that fit in `room`; mail only where the others leave some."""
    kept: set[int] = set()
    newest_first = range(len(words) - 1, -1, -1)
    for is_mail in (False, True):
        for place in newest_first:
            if (_MAIL.fullmatch(words[place]) is not None) != is_mail:
                continue
            size = text_tokens(words[place])
            if kept and size > room:
                break
            kept.add(place)
            room -= size
    return tuple(text for place, text in enumerate(words) if place in kept)


def _newest_results(
    messages: Sequence[Message], standing: frozenset[str]
) -> Mapping[str, tuple[str, str]]:
    """Returns, by tool, the call id and the text of the newest result that stands."""
    found: dict[str, tuple[str, str]] = {}
    for answer, reaction in pairwise(messages):
        names = {call.call_id: call.name for call in answer.calls if call.name in standing}
        for block in reaction.blocks:
            if isinstance(block, ToolOutput) and block.call_id in names and not block.is_error:
                found[names[block.call_id]] = (block.call_id, block.text)
    return found


def _files(messages: Iterable[Message]) -> list[str]:
    paths = (call.input.get("path") for message in messages for call in message.calls)
    return [path for path in paths if isinstance(path, str) and path]

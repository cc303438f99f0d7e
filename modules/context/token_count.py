"""Estimates how many tokens a text takes: four bytes of UTF-8 a token; pure.

Good enough for what was added since the provider last told its own count, and scaled by that count
for the rest. Bytes, not characters: scripts with large alphabets take more tokens a character.
"""

from collections.abc import Iterable

from modules.records.messages import Block, Message, Reasoning, Text, ToolCall, ToolOutput, ToolSpec

_BYTES_A_TOKEN = 4
_BLOCK_TOKENS = 4  # the frame of a message or a block


def text_tokens(text: str) -> int:
    """Returns an estimate for one text."""
    # An ASCII string knows that it is one, and its length is its size.
    size = len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
    return -(-size // _BYTES_A_TOKEN)


def message_tokens(message: Message) -> int:
    """Returns an estimate for one message."""
    return _BLOCK_TOKENS + sum(_block_tokens(block) for block in message.blocks)


def history_tokens(messages: Iterable[Message]) -> int:
    """Returns an estimate for several messages."""
    return sum(message_tokens(message) for message in messages)


def head_tokens(system: str, tools: Iterable[ToolSpec]) -> int:
    """Returns an estimate for what every request begins with."""
    return text_tokens(system) + sum(
        text_tokens(tool.name + tool.description) + text_tokens(str(tool.input_schema))
        for tool in tools
    )


def _block_tokens(block: Block) -> int:
    match block:
        case Text(text=text) | ToolOutput(text=text):
            return _BLOCK_TOKENS + text_tokens(text)
        case Reasoning(text=text, signature=signature):
            return _BLOCK_TOKENS + text_tokens(text + signature)
        case ToolCall(name=name, input=given):
            return _BLOCK_TOKENS + text_tokens(name) + text_tokens(str(given))

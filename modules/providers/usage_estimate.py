"""Counts tokens where a provider tells no figures: four characters a token."""

from modules.records.messages import (
    Block,
    Message,
    ModelRequest,
    Reasoning,
    Text,
    ToolCall,
    ToolOutput,
    Usage,
)

_CHARACTERS_A_TOKEN = 4


def estimated_usage(request: ModelRequest, answer: Message) -> Usage:
    """Returns a guess at the tokens of one request and its answer, marked as a guess."""
    sent = (
        len(request.system)
        + sum(len(tool.description) + len(str(tool.input_schema)) for tool in request.tools)
        + sum(_length(message) for message in request.messages)
    )
    return Usage(
        input_tokens=_tokens(sent), output_tokens=_tokens(_length(answer)), is_estimate=True
    )


def _tokens(characters: int) -> int:
    return -(-characters // _CHARACTERS_A_TOKEN)


def _length(message: Message) -> int:
    return sum(_block_length(block) for block in message.blocks)


def _block_length(block: Block) -> int:
    match block:
        case Text() | ToolOutput():
            return len(block.text)
        case Reasoning():
            return len(block.text) + len(block.signature)
        case ToolCall():
            return len(block.name) + len(str(block.input))

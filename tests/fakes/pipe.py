"""A worker's pipe without a process: the test is the worker."""

import asyncio
from typing import Any

import msgspec

from modules.records.protocol import AnyLeadMessage, AnyWorkerMessage
from modules.records.record import to_json


class FakePipe(asyncio.Transport):
    """Gives a broker its reader and writer; made inside a running loop."""

    def __init__(self, *, limit: int = 2**16) -> None:
        super().__init__()
        self._loop = loop = asyncio.get_running_loop()
        self.reader = asyncio.StreamReader(limit=limit, loop=loop)
        protocol = asyncio.StreamReaderProtocol(self.reader, loop=loop)
        self.writer = asyncio.StreamWriter(self, protocol, self.reader, loop)
        self._written = b""
        self._is_closed = False
        self._decoder: msgspec.json.Decoder[Any] = msgspec.json.Decoder(AnyLeadMessage)

    def say(self, *messages: AnyWorkerMessage) -> None:
        """Sends messages as the worker."""
        for message in messages:
            self.say_bytes(to_json(message) + b"\n")

    def say_bytes(self, data: bytes) -> None:
        """Sends whatever a broken worker may send."""
        self.reader.feed_data(data)

    def close(self) -> None:
        """Closes the worker's end."""
        self._is_closed = True
        self.reader.feed_eof()

    def take_heard(self) -> list[AnyLeadMessage]:
        """Returns what the lead said since the last time."""
        lines, self._written = self._written.splitlines(), b""
        return [self._decoder.decode(line) for line in lines]

    def write(self, data: "bytes | bytearray | memoryview[Any]") -> None:
        """Takes what the lead writes."""
        if self._is_closed:
            raise BrokenPipeError("The worker is gone.")
        self._written += bytes(data)

    def is_closing(self) -> bool:
        """Returns whether the worker is gone; with the loop everybody is."""
        return self._is_closed or self._loop.is_closed()

"""The protocol spoken with one running server, by the official SDK.

The SDK's session does the handshake, answers pings and matches replies; its typed results are not
used, for they refuse a whole list over one tool. The streams are our own, not the SDK's: they know
the process, bound a line, and outlive a line that is no message.

1. A line that is no protocol message is skipped and counted, whatever it holds; only a reply that
   follows an unfinished line of a log is taken out of it.
2. A reply that is malformed but carries an id fails the request it answers.
3. When the server ends, or its output does, every pending request fails at once.
"""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Callable, Mapping
from typing import TYPE_CHECKING, Any

from modules.mcp_client.child import Child, cancelled
from modules.mcp_client.plain_text import one_line, shortened, without_surrogates
from modules.records.errors import CrewyardError, TransientFault

if TYPE_CHECKING:
    # The SDK costs a second of CPU and 60 MiB: it is loaded with the first server, in a thread.
    from anyio.abc import ObjectReceiveStream, ObjectSendStream
    from mcp import ClientSession
    from mcp.client.session import IncomingMessage
    from mcp.shared.jsonrpc_dispatcher import JSONRPCDispatcher
    from mcp.shared.message import SessionMessage

_CLIENT_NAME = "crewyard"
_OUTGOING_BUFFER = 1024
"""Messages that wait for a server that does not read."""
_EXIT_SECONDS = 0.3
"""Between the end of a server's output and its exit, to learn the exit code and the last words."""


_REFUSAL_CHARACTERS = 20_000


class Refusal(CrewyardError):
    """The server answered a request with an error."""

    def __init__(self, message: str, *, code: int) -> None:
        super().__init__(message)
        self.code = code


class Link:
    """An open session with a server; requests may come from any task."""

    def __init__(
        self, child: Child, *, max_message_bytes: int, on_lost: Callable[[str], None]
    ) -> None:
        self._child = child
        self._max_message_bytes = max_message_bytes
        self._on_lost = on_lost
        self._dispatcher: JSONRPCDispatcher | None = None
        self._fault = ""
        self.lost = asyncio.Event()
        self.bad_lines = 0
        self.first_bad_line = ""

    @property
    def end(self) -> str:
        """Why it was lost, as the rest of a sentence about the server."""
        return self._fault or self._child.end

    async def request(self, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        """Returns the result as the server sent it; the caller sets the time limit.

        Raises Refusal when the server answers with an error, TransientFault when it ends.
        """
        from mcp.shared.exceptions import MCPError

        assert self._dispatcher is not None
        try:
            return await self._dispatcher.send_raw_request(method, params)
        except MCPError as error:
            # The code tells nothing: servers use the SDK's code for a closed connection too.
            if self.lost.is_set():
                raise TransientFault(self.end) from error
            said = shortened(without_surrogates(error.message), _REFUSAL_CHARACTERS)
            raise Refusal(said, code=error.code) from error

    @contextlib.asynccontextmanager
    async def open(self, on_tools_changed: Callable[[], None]) -> AsyncIterator[None]:
        """Does the handshake; enter and leave it in one task.

        Raises TransientFault when the server refuses it or ends meanwhile.
        """
        await asyncio.to_thread(_load_sdk)
        import anyio
        from mcp.shared.jsonrpc_dispatcher import JSONRPCDispatcher
        from mcp.shared.message import SessionMessage

        arrived, incoming = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        outgoing, leaving = anyio.create_memory_object_stream[SessionMessage](_OUTGOING_BUFFER)
        self._dispatcher = JSONRPCDispatcher(incoming, outgoing)
        pumps = [
            asyncio.create_task(self._receive(arrived)),
            asyncio.create_task(self._send(leaving)),
        ]
        try:
            async with self._session(on_tools_changed):
                yield
        finally:
            await cancelled(*pumps)
            for stream in (arrived, incoming, outgoing, leaving):
                stream.close()

    @contextlib.asynccontextmanager
    async def _session(self, on_tools_changed: Callable[[], None]) -> AsyncIterator[None]:
        from mcp import ClientSession
        from mcp_types import Implementation, ToolListChangedNotification

        async def hear(message: "IncomingMessage") -> None:
            if isinstance(message, ToolListChangedNotification):
                on_tools_changed()

        session = ClientSession(
            dispatcher=self._dispatcher,
            client_info=Implementation(name=_CLIENT_NAME, version=""),
            message_handler=hear,
        )
        try:
            async with session:
                try:
                    await self._shake_hands(session)
                    yield
                finally:
                    # Before the session fails what is pending, so that each knows why.
                    self._lose()
        except ExceptionGroup as group:
            first = _first_of(group)
            raise first from first.__cause__

    async def _shake_hands(self, session: "ClientSession") -> None:
        from mcp.shared.exceptions import MCPError
        from pydantic import ValidationError

        try:
            await session.initialize()
        except MCPError as error:
            if self.lost.is_set():
                raise TransientFault(self.end) from error
            said = one_line(error.message, 200)
            raise TransientFault(f"refused the handshake ({said})") from error
        except ValidationError as error:
            raise TransientFault("answered the handshake with something else") from error
        except RuntimeError as error:
            # The SDK's only word for a version it does not speak.
            raise TransientFault(f"can't be spoken with ({one_line(str(error), 200)})") from error

    async def _receive(self, arrived: "ObjectSendStream[SessionMessage | Exception]") -> None:
        from anyio import BrokenResourceError, ClosedResourceError

        try:
            async for line in self._child.lines(max_bytes=self._max_message_bytes):
                message = _message(line)
                if message is None and line.strip():
                    self._skip(line)
                    message = _reply_behind_words(line)
                if message is not None:
                    await arrived.send(message)
            await self._child.drain(_EXIT_SECONDS)
        except TransientFault as fault:
            self._fault = str(fault)
        except (BrokenResourceError, ClosedResourceError):
            self._fault = self._fault or "was let go of"
        finally:
            self._lose()
            await arrived.aclose()

    async def _send(self, leaving: "ObjectReceiveStream[SessionMessage]") -> None:
        try:
            async for item in leaving:
                document = item.message.model_dump(by_alias=True, exclude_unset=True)
                # Servers drop a whole line over a lone surrogate, and never answer it.
                line = without_surrogates(json.dumps(document, ensure_ascii=False))
                await self._child.write(line.encode())
        except ConnectionError:
            if not await self._child.wait(_EXIT_SECONDS):
                self._fault = "no longer reads its input"
            self._lose()

    def _lose(self) -> None:
        if not self.lost.is_set():
            self.lost.set()
            self._on_lost(self.end)

    def _skip(self, line: bytes) -> None:
        self.bad_lines += 1
        if self.bad_lines == 1:
            self.first_bad_line = one_line(line[:400].decode(errors="replace"), 80)


def _load_sdk() -> None:
    import mcp.shared.jsonrpc_dispatcher  # noqa: F401 - only to have it loaded


def _message(line: bytes) -> "SessionMessage | None":
    """Returns the message of a line; None where it holds none."""
    from mcp.shared.message import SessionMessage
    from mcp_types import INTERNAL_ERROR, ErrorData, JSONRPCError, jsonrpc_message_adapter
    from pydantic import ValidationError

    try:
        # Not the SDK's parser: that one refuses a whole line over one lone surrogate.
        document = json.loads(line)
    except (ValueError, RecursionError):
        return None
    try:
        return SessionMessage(jsonrpc_message_adapter.validate_python(document, by_name=False))
    except ValidationError:
        request_id = _answered_id(document)
        if request_id is None:
            return None
        fault = ErrorData(code=INTERNAL_ERROR, message="The server's reply is malformed.")
        return SessionMessage(JSONRPCError(jsonrpc="2.0", id=request_id, error=fault))


def _reply_behind_words(line: bytes) -> "SessionMessage | None":
    """Returns the reply a line ends with: a log without a line break ran into it."""
    start = line.rfind(b'{"jsonrpc"')
    if start <= 0:
        return None
    message = _message(line[start:])
    # A request or notification may well be quoted by the log; a reply quoted is a reply sent.
    return message if message and not hasattr(message.message, "method") else None


def _answered_id(document: object) -> int | str | None:
    if not isinstance(document, dict) or "method" in document:
        return None
    request_id = document.get("id")
    is_id = isinstance(request_id, int | str) and not isinstance(request_id, bool)
    return request_id if is_id and ("result" in document or "error" in document) else None


def _first_of(group: ExceptionGroup[Exception]) -> Exception:
    first = group.exceptions[0]
    return _first_of(first) if isinstance(first, ExceptionGroup) else first

"""Both wire adapters, through the vendors' real SDKs, against servers on loopback."""

import asyncio
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any, Protocol

import pytest

from modules.providers.anthropic_messages import AnthropicMessages
from modules.providers.failures import Service
from modules.providers.openai_chat import OpenAiChat
from modules.providers.openai_dialect import Dialect
from modules.providers.retrying import Retrying
from modules.records.errors import ContextOverflow, PersonFault, TransientFault
from modules.records.exits import Exit
from modules.records.messages import (
    Message,
    ModelReply,
    ModelRequest,
    Reasoning,
    StopReason,
    Text,
    ToolCall,
    Usage,
    said,
)
from tests.fakes.anthropic_server import SIGNATURE, AnthropicServer
from tests.fakes.model_server import Answer, Asked, Ending, FakeCall, ModelServer
from tests.fakes.openai_server import OpenAiServer
from tests.providers.making import BASH, answered, call, output, request, told, words

pytestmark = pytest.mark.slow  # the SDKs take seconds to import

KEY = "sk-fake-key"


class Adapter(Protocol):
    """An adapter as these tests use it."""

    async def complete(
        self, request: ModelRequest, *, on_text: Callable[[str], None]
    ) -> ModelReply: ...

    async def close(self) -> None: ...


class Kind:
    """One wire format: its server and its adapter."""

    def __init__(
        self, make_server: Callable[..., ModelServer], make_adapter: Callable[..., Adapter]
    ) -> None:
        self.server = make_server
        self._make_adapter = make_adapter

    def adapter(self, server: Any, **fields: Any) -> Adapter:
        return self._make_adapter(
            Service(name="fake", key_variable="FAKE_KEY", key=KEY),
            base_url=server.base_url,
            clock=lambda: datetime.now(UTC),
            **fields,
        )

    def ask(self, server: ModelServer, *asked: ModelRequest, **fields: Any) -> list[ModelReply]:
        """Asks one request after the other."""

        async def scenario() -> list[ModelReply]:
            adapter = self.adapter(server, **fields)
            try:
                return [await adapter.complete(one, on_text=lambda text: None) for one in asked]
            finally:
                await adapter.close()

        return asyncio.run(asyncio.wait_for(scenario(), 60))


def _openai(service: Service, *, dialect: Dialect | None = None, **fields: Any) -> Adapter:
    return OpenAiChat(service, dialect=dialect or Dialect(), **fields)


ANTHROPIC = Kind(AnthropicServer, AnthropicMessages)
OPENAI = Kind(OpenAiServer, _openai)
BOTH = pytest.mark.parametrize("kind", [ANTHROPIC, OPENAI], ids=["anthropic", "openai"])


@BOTH
def test_a_whole_answer_becomes_a_reply_and_its_words_come_in_pieces(kind: Kind) -> None:
    answer = Answer(say="I look.", calls=(FakeCall(name="bash", input={"command": "ls"}),))
    heard: list[str] = []

    async def scenario(server: ModelServer) -> ModelReply:
        adapter = kind.adapter(server)
        try:
            return await adapter.complete(request(tools=(BASH,)), on_text=heard.append)
        finally:
            await adapter.close()

    with kind.server([answer]) as server:
        reply = asyncio.run(scenario(server))

    (made,) = reply.message.calls
    assert reply == ModelReply(
        message=answered(
            Text(text="I look."),
            ToolCall(call_id=made.call_id, name="bash", input={"command": "ls"}),
        ),
        stop=StopReason.TOOL_USE,
        usage=Usage(input_tokens=100, output_tokens=7, cached_tokens=40, cache_write_tokens=10),
    )
    assert "".join(heard) == "I look."
    assert len(heard) > 1
    (asked,) = server.asked
    assert (asked.model, asked.system, asked.newest) == ("m", "Be brief.", "hello")
    assert asked.tools == ["bash"]
    assert asked.headers["authorization"] == f"Bearer {KEY}"
    assert server.complaints == []


@BOTH
def test_a_long_conversation_is_accepted_at_every_step(kind: Kind) -> None:
    def answer(asked: Asked) -> Answer:
        step = FakeCall(name="bash", input={"command": f"echo {asked.turns}"})
        return Answer(reasoning="I think.", say=f"Step {asked.turns}.", calls=(step, step))

    async def scenario(server: ModelServer) -> list[Message]:
        adapter, conversation = kind.adapter(server), [said("start")]
        for _ in range(6):
            reply = await adapter.complete(
                request(*conversation, tools=(BASH,)), on_text=lambda text: None
            )
            outputs = [output(made.call_id, "ok") for made in reply.message.calls]
            conversation += [reply.message, told(*outputs)]
        await adapter.close()
        return conversation

    with kind.server(answer) as server:
        conversation = asyncio.run(scenario(server))

    assert server.complaints == []
    assert [asked.turns for asked in server.asked] == list(range(6))
    ids = [made.call_id for message in conversation for made in message.calls]
    assert len(set(ids)) == 12


HISTORIES: dict[str, Sequence[Message]] = {
    "interrupted call": [said("go"), answered(call("a"), call("b")), told(output("a"), words("x"))],
    "killed in a call": [said("go"), answered(call("a"))],
    "retry after a call": [said("go"), answered(call("a")), answered(words("again")), said("x")],
    "empty words": [said("go"), answered(words("")), said("x")],
    "only reasoning": [said("go"), answered(Reasoning(origin="fake:m", text="hm")), said("x")],
    "blank words": [said("go"), answered(words(" \n")), said("x")],
    "silent command": [said("go"), answered(call("a")), told(output("a", ""))],
    "faulty call": [
        said("go"),
        answered(call("a", input={}, fault="cut off")),
        told(output("a", "cut off", is_error=True)),
    ],
    "half a character": [
        said("go \ud800"),
        answered(call("a", input={"command": "\ud99c"})),
        told(output("a", "caf\udce9 😀")),
    ],
    "made-up tool": [
        said("go"),
        answered(call("a", name="functions.bash\n")),
        told(output("a", "no such tool", is_error=True)),
    ],
    "foreign reasoning": [
        said("go"),
        answered(Reasoning(origin="other:x", text="hm", signature="z"), words("y")),
        said("x"),
    ],
    "lost output": [said("go"), told(output("gone", "42"))],
}


@BOTH
@pytest.mark.parametrize("name", sorted(HISTORIES))
def test_a_broken_history_is_sent_so_that_the_server_takes_it(kind: Kind, name: str) -> None:
    """anthropics/claude-code#2959, anomalyco/opencode#5750, dirge-code/dirge#757."""
    history = HISTORIES[name]

    with kind.server([Answer(say="fine")]) as server:
        first, second = kind.ask(server, request(*history), request(*history, said("more")))

    assert server.complaints == []
    assert first.message == second.message == answered(Text(text="fine"))


UNFINISHED = {
    "half a sentence": Answer(say="half a sentence", ending=Ending.TRUNCATED, sent_events=3),
    "after a whole call": Answer(calls=(FakeCall(name="bash"),), ending=Ending.TRUNCATED),
    "torn character": Answer(say="half", ending=Ending.TORN_CHARACTER),
    "reset in a call": Answer(
        calls=(FakeCall(name="bash", input={"command": "create"}),),
        ending=Ending.RESET,
        sent_events=4,
    ),
    "reset at once": Answer(ending=Ending.RESET_AT_ONCE),
    "error event": Answer(say="half", ending=Ending.ERROR_EVENT, error_type="overloaded_error"),
    "reset in an error": Answer(status=500, ending=Ending.RESET),
    "garbage": Answer(ending=Ending.GARBAGE),
    "silence": Answer(say="half", ending=Ending.SILENCE, sent_events=2),
}


@BOTH
@pytest.mark.parametrize("name", sorted(UNFINISHED))
def test_an_answer_that_breaks_off_is_transient_and_no_reply(kind: Kind, name: str) -> None:
    """apache/maka#2297, anthropics/anthropic-sdk-python#1470, openai/openai-python#2356."""
    with kind.server([UNFINISHED[name]]) as server, pytest.raises(TransientFault):
        kind.ask(server, request(), silence_seconds=0.5)

    assert len(server.log) == 1


@BOTH
@pytest.mark.parametrize("name", sorted(set(UNFINISHED) - {"silence"}))
def test_an_answer_that_breaks_off_is_asked_for_again(kind: Kind, name: str) -> None:
    notices: list[str] = []

    async def scenario(server: ModelServer) -> ModelReply:
        adapter = kind.adapter(server)
        retrying = Retrying(
            adapter,
            sleep=asyncio.sleep,
            random=lambda: 0.0,
            clock=lambda: datetime.now(UTC),
            notice=notices.append,
        )
        try:
            return await retrying.complete(request(), on_text=lambda text: None)
        finally:
            await adapter.close()

    with kind.server([UNFINISHED[name], Answer(say="whole")]) as server:
        reply = asyncio.run(scenario(server))

    assert reply.message == answered(Text(text="whole"))
    assert server.log[1].arrived_at - server.log[0].arrived_at < 2.0
    assert len(notices) == 1


@BOTH
@pytest.mark.parametrize(
    ("answer", "wait"),
    [
        (Answer(status=429, headers={"retry-after": "3"}), 3.0),
        (Answer(status=429, headers={"retry-after-ms": "250"}), 0.25),
        (Answer(status=529, error_type="overloaded_error"), None),
        (Answer(status=500), None),
        (Answer(status=503, headers={"retry-after": "99999"}), 99_999.0),
    ],
    ids=["seconds", "milliseconds", "529", "500", "absurd"],
)
def test_a_busy_server_is_transient_with_the_wait_it_named(
    kind: Kind, answer: Answer, wait: float | None
) -> None:
    with kind.server([answer]) as server, pytest.raises(TransientFault) as caught:
        kind.ask(server, request())

    assert caught.value.retry_after_seconds == wait
    assert len(server.log) == 1


@BOTH
def test_a_wait_named_as_a_date_is_understood(kind: Kind) -> None:
    moment = datetime.now(UTC) + timedelta(seconds=60)
    answer = Answer(status=429, headers={"retry-after": format_datetime(moment, usegmt=True)})

    with kind.server([answer]) as server, pytest.raises(TransientFault) as caught:
        kind.ask(server, request())

    assert caught.value.retry_after_seconds == pytest.approx(59.5, abs=1.5)


@BOTH
def test_waits_between_tries_are_as_long_as_the_server_asked(kind: Kind) -> None:
    """earendil-works/pi#9595, openclaw/openclaw#99097."""
    busy = Answer(status=429, error_text="", headers={"retry-after": "0.6"})

    async def scenario(server: ModelServer) -> ModelReply:
        adapter = kind.adapter(server)
        retrying = Retrying(
            adapter,
            sleep=asyncio.sleep,
            random=lambda: 1.0,
            clock=lambda: datetime.now(UTC),
            notice=lambda text: None,
        )
        try:
            return await retrying.complete(request(), on_text=lambda text: None)
        finally:
            await adapter.close()

    with kind.server([busy, busy, Answer(say="yes")]) as server:
        reply = asyncio.run(scenario(server))

    first, second, third = (logged.arrived_at for logged in server.log)
    assert reply.message == answered(Text(text="yes"))
    assert second - first >= 0.6
    assert third - second >= 0.6


@BOTH
@pytest.mark.parametrize(
    ("answer", "exit_code", "hint"),
    [
        (Answer(status=401, error_text=f"bad key {KEY}"), Exit.USAGE, "Set FAKE_KEY"),
        (Answer(status=403), Exit.USAGE, "Set FAKE_KEY"),
        (Answer(status=404, error_text="no such model"), Exit.USAGE, "--model"),
        (Answer(status=400, error_text="temperature: no"), Exit.FAILED, "again"),
        (Answer(status=422), Exit.FAILED, "again"),
    ],
    ids=["401", "403", "404", "400", "422"],
)
def test_a_refusal_is_for_the_person_and_is_not_repeated(
    kind: Kind, answer: Answer, exit_code: Exit, hint: str
) -> None:
    with kind.server([answer]) as server, pytest.raises(PersonFault) as caught:
        kind.ask(server, request())

    assert caught.value.exit_code == exit_code
    assert hint in caught.value.hint
    assert KEY not in caught.value.line
    assert len(server.log) == 1


@BOTH
def test_a_request_that_is_too_long_must_shrink(kind: Kind) -> None:
    answer = Answer(status=400, error_text="prompt is too long: 210000 tokens > 200000 maximum")

    with kind.server([answer]) as server, pytest.raises(ContextOverflow):
        kind.ask(server, request())

    assert len(server.log) == 1


@BOTH
def test_a_server_that_is_not_there_is_transient(kind: Kind) -> None:
    with kind.server([Answer()]) as server:
        gone = server

    with pytest.raises(TransientFault, match="fake could not be reached"):
        kind.ask(gone, request())


@BOTH
def test_a_cancelled_request_ends_at_once_and_lets_the_connection_go(kind: Kind) -> None:
    async def scenario(server: ModelServer) -> float:
        adapter, heard = kind.adapter(server), asyncio.Event()
        asking = asyncio.create_task(adapter.complete(request(), on_text=lambda text: heard.set()))
        await heard.wait()
        cancelled_at = time.monotonic()
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        took = time.monotonic() - cancelled_at
        await adapter.close()
        return took

    with kind.server([Answer(say="half", ending=Ending.SILENCE, sent_events=5)]) as server:
        assert asyncio.run(asyncio.wait_for(scenario(server), 30)) < 2.0


@BOTH
def test_many_requests_go_out_at_once(kind: Kind) -> None:
    async def scenario(server: ModelServer) -> None:
        adapter = kind.adapter(server)
        await asyncio.gather(
            *(
                adapter.complete(request(agent=f"a{n}"), on_text=lambda text: None)
                for n in range(12)
            )
        )
        await adapter.close()

    with kind.server([Answer(say="yes", delay_seconds=0.5)]) as server:
        asyncio.run(scenario(server))

    assert server.most_open == 12


@BOTH
def test_no_figures_from_the_server_are_an_estimate(kind: Kind) -> None:
    """microsoft/foundry-local#905, BerriAI/litellm#30761."""
    with kind.server([Answer(say="hello", usage=None)]) as server:
        (reply,) = kind.ask(server, request())

    assert reply.usage.is_estimate
    assert reply.usage.input_tokens > 0


@BOTH
def test_a_call_cut_by_the_output_limit_goes_back_as_an_object(kind: Kind) -> None:
    stop = "max_tokens" if kind is ANTHROPIC else "length"
    cut = FakeCall(name="write_file", arguments='{"path": "x.py", "content": "def')

    with kind.server([Answer(calls=(cut,), stop=stop), Answer(say="smaller")]) as server:
        (first,) = kind.ask(server, request())
        (made,) = first.message.calls
        kind.ask(
            server, request(said("hello"), first.message, told(output(made.call_id, made.fault)))
        )

    assert first.stop == StopReason.MAX_TOKENS
    assert "output limit" in made.fault
    assert server.complaints == []


def test_anthropic_reasoning_goes_back_unchanged_to_its_model_alone() -> None:
    with AnthropicServer([Answer(reasoning="hm", say="yes")]) as server:
        (first,) = ANTHROPIC.ask(server, request())
        history = (said("hello"), first.message, said("on"))
        ANTHROPIC.ask(server, request(*history), request(*history, model="other"))

    own, other = (asked.body["messages"][1]["content"] for asked in server.asked[1:])
    assert own[0] == {"type": "thinking", "thinking": "hm", "signature": SIGNATURE}
    assert [block["type"] for block in other] == ["text"]
    assert server.complaints == []


def test_anthropic_reasoning_the_server_disowns_is_dropped_once_and_stays_dropped() -> None:
    disowned = Reasoning(origin="fake:m", text="hm", signature="of another conversation")
    history = (said("go"), answered(disowned, words("yes")), said("on"))

    with AnthropicServer([Answer(reasoning="new", say="fine")]) as server:
        asked = request(*history)
        (reply,) = ANTHROPIC.ask(server, asked)
        assert [len(logged.complaints) for logged in server.log] == [1, 0]

        grown = request(*history, reply.message, said("more"))
        ANTHROPIC.ask(server, asked, grown)

    last = server.asked[-1].body["messages"]
    kinds = [[block["type"] for block in message["content"]] for message in last]
    assert kinds == [["text"], ["text"], ["text"], ["thinking", "text"], ["text"]]
    assert [len(logged.complaints) for logged in server.log] == [1, 0, 1, 0, 0]


@BOTH
def test_no_credential_of_the_environment_comes_before_the_key_that_was_given(
    kind: Kind, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = "http://127.0.0.1:1"
    for name, value in {
        "ANTHROPIC_AUTH_TOKEN": "foreign",
        "ANTHROPIC_API_KEY": "foreign",
        "ANTHROPIC_BASE_URL": elsewhere,
        "ANTHROPIC_CUSTOM_HEADERS": "authorization: Bearer foreign",
        "OPENAI_API_KEY": "foreign",
        "OPENAI_ADMIN_KEY": "foreign",
        "OPENAI_BASE_URL": elsewhere,
        "OPENAI_CUSTOM_HEADERS": "Authorization: Bearer foreign",
        "OPENAI_ORG_ID": "foreign",
        "OPENAI_PROJECT_ID": "foreign",
    }.items():
        monkeypatch.setenv(name, value)

    with kind.server([Answer(say="yes")]) as server:
        kind.ask(server, request())

    (asked,) = server.asked
    assert asked.headers["authorization"] == f"Bearer {KEY}"
    assert "foreign" not in str(asked.headers)


@pytest.mark.parametrize("reasoning", ["required", "forbidden"])
def test_openai_reasoning_is_replayed_as_the_server_wants_it(reasoning: Any) -> None:
    """MoonshotAI/kimi-cli#2141, router-for-me/CLIProxyAPI#3587."""
    first = answered(Reasoning(origin="fake:m", text="hm"), call("a"))
    history = (said("go"), first, told(output("a")), answered(words("yes")), said("on"))

    for field in ("", "reasoning_content"):
        with OpenAiServer([Answer(say="fine")], reasoning=reasoning) as server:
            OPENAI.ask(
                server,
                request(*history),
                request(*history, answered(words("fine")), said("more")),
                dialect=Dialect(reasoning_field=field),
            )

        is_right_at_once = (field != "") == (reasoning == "required")
        assert len(server.log) == (2 if is_right_at_once else 3)
        assert server.log[-1].complaints == ()


def test_openai_reasoning_of_another_model_is_not_sent() -> None:
    foreign = answered(Reasoning(origin="other:m", text="their thoughts"), words("yes"))

    with OpenAiServer([Answer(say="fine")]) as server:
        OPENAI.ask(
            server,
            request(said("go"), foreign, said("on")),
            dialect=Dialect(reasoning_field="reasoning_content"),
        )

    assert "their thoughts" not in str(server.asked[0].body)


def test_openai_field_of_the_output_limit_is_learnt_once() -> None:
    with OpenAiServer([Answer(say="x")], max_tokens_field="max_completion_tokens") as server:
        OPENAI.ask(server, request(), request(), request())

    assert [len(logged.complaints) for logged in server.log] == [1, 0, 0, 0]


def test_openai_complaint_that_never_ends_is_not_answered_for_ever() -> None:
    def refuse(asked: Asked) -> Answer:
        return Answer(status=400, error_text="max_tokens and max_completion_tokens: unsupported")

    with OpenAiServer(refuse) as server, pytest.raises(PersonFault):
        OPENAI.ask(server, request())

    assert len(server.log) <= 3


def test_openai_parallel_calls_that_share_an_index_come_out_as_two() -> None:
    """huggingface/smolagents#1958, ai-dynamo/dynamo#4723."""
    from tests.fakes.openai_server import call_piece, chunk

    def function(path: str) -> dict[str, str]:
        return {"name": "read_file", "arguments": f'{{"path": "{path}"}}'}

    variants: list[tuple[Any, ...]] = [
        (
            call_piece(index=0, id="a", function=function("a")),
            call_piece(index=0, id="b", function=function("b")),
        ),
        (call_piece(id="", function=function("a")), call_piece(id="", function=function("b"))),
        (
            {"choices": []},
            chunk({"tool_calls": [{"index": 0, "id": "a", "function": function("a")}]}),
            chunk(None),
            chunk({"tool_calls": [{"index": 1, "id": "b", "function": function("b")}]}),
        ),
    ]
    for variant in variants:
        events = (*variant, chunk({}, finish_reason="tool_calls"))
        with OpenAiServer([Answer(events=events), Answer(say="fine")]) as server:
            (reply,) = OPENAI.ask(server, request())
            outputs = [output(made.call_id, made.input["path"]) for made in reply.message.calls]
            OPENAI.ask(server, request(said("hello"), reply.message, told(*outputs)))

        assert [made.input for made in reply.message.calls] == [{"path": "a"}, {"path": "b"}]
        assert server.complaints == []


def test_openai_server_that_needs_no_key_gets_a_placeholder() -> None:
    async def scenario(server: OpenAiServer) -> None:
        adapter = OpenAiChat(
            Service(name="local", key_variable=""),
            base_url=server.base_url,
            dialect=Dialect(),
            clock=lambda: datetime.now(UTC),
        )
        await adapter.complete(request(), on_text=lambda text: None)
        await adapter.close()

    with OpenAiServer([Answer(say="yes")]) as server:
        asyncio.run(scenario(server))

    assert server.asked[0].headers["authorization"] == "Bearer x"

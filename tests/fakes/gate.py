"""What stands round a tool pool: hooks, a person, a watcher; each tells the order it was met in."""

from collections.abc import Callable

from msgspec.structs import replace

from modules.records.decisions import Behavior, Decision, Subject
from modules.records.messages import ToolCall
from modules.records.tooling import ToolResult
from modules.safety.hook_verdict import HookOutcome


class Order:
    """The steps a call took, as the fakes met them."""

    def __init__(self) -> None:
        self.steps: list[str] = []


class FakeHooks:
    """Hooks that say what the test prepared."""

    def __init__(self, order: Order) -> None:
        self._order = order
        self.meanwhile: Callable[[], None] = lambda: None
        """What happens while the hooks before a call run."""
        self.says_before = HookOutcome()
        self.says_after = HookOutcome()

    async def before(self, call: ToolCall) -> HookOutcome:
        """Stands for the hooks before a call."""
        self._order.steps.append(f"hooks before {call.input}")
        self.meanwhile()
        return self.says_before

    async def after(self, call: ToolCall, result: ToolResult, seconds: float) -> HookOutcome:
        """Stands for the hooks after a call."""
        self._order.steps.append(f"hooks after {result.text}, {seconds:g} s")
        return self.says_after


class FakeAsker:
    """A person who always answers the same."""

    def __init__(self, order: Order) -> None:
        self._order = order
        self.answer = Behavior.DENY
        self.meanwhile: Callable[[], None] = lambda: None
        """What happens while the person thinks."""

    async def ask(self, call: ToolCall, subject: Subject, decision: Decision) -> Decision:
        """Returns the decision with the person's answer in it."""
        self._order.steps.append(f"asked about {call.input}: {decision.why}")
        self.meanwhile()
        why = "the person said no" if self.answer is Behavior.DENY else decision.why
        return replace(decision, behavior=self.answer, source="person", why=why)


class FakeWatcher:
    """Keeps what it is told."""

    def __init__(self, order: Order) -> None:
        self._order = order
        self.decisions: list[Decision] = []
        self.hashes: list[str] = []
        self.warnings: list[str] = []
        self.ends: list[ToolResult] = []

    def decided(self, call: ToolCall, input_hash: str, decision: Decision) -> None:
        """Takes in a decision."""
        self._order.steps.append(f"decided {decision.behavior}")
        self.decisions.append(decision)
        self.hashes.append(input_hash)

    def started(self, call: ToolCall, subject: Subject) -> None:
        """Takes in that a call runs."""
        self._order.steps.append("started")

    def ended(self, call: ToolCall, result: ToolResult) -> None:
        """Takes in a result."""
        self._order.steps.append("ended")
        self.ends.append(result)

    def warned(self, text: str) -> None:
        """Takes in a warning."""
        self.warnings.append(text)


def marked(order: Order) -> Callable[[str, str], str]:
    """Returns a trim that leaves its mark."""

    def trim(call_id: str, text: str) -> str:
        order.steps.append(f"trimmed {call_id}")
        return text.replace("s3cret", "***")

    return trim

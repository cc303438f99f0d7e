"""The console's /compact and /context: make the lead's conversation shorter, tell how long it is.

A lead that is at a turn compacts before its next request; one that is not does it at once.
"""

from collections.abc import Callable, Iterator

from modules.app.lead_agent import LeadAgent


class CompactCommand:
    """Compacts the lead's conversation; `wake` lets the lead see to it."""

    def __init__(
        self, lead: LeadAgent, *, is_at_turn: Callable[[], bool], wake: Callable[[], None]
    ) -> None:
        self._lead = lead
        self._is_at_turn = is_at_turn
        self._wake = wake

    def compact(self, focus: str) -> Iterator[str]:
        """Has the conversation compacted; yields what the person is to read."""
        self._lead.compactor.wish(focus)
        self._wake()
        if self._is_at_turn():
            yield "The lead's conversation is compacted before its next request."
        else:
            yield "The lead's conversation is being compacted."

    def context(self) -> Iterator[str]:
        """Yields how long the conversation is."""
        compactor = self._lead.compactor
        window = compactor.window
        share = 100 * compactor.tokens // window.tokens
        yield (
            f"The lead's next request takes about {compactor.tokens:,} of {window.tokens:,} tokens "
            f"({share} %); from {window.limit:,} on the conversation is compacted by itself."
        )

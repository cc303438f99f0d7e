"""What a walk through a script has found so far."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from modules.records.decisions import Assessment, Risk
from modules.safety.ground import Ground
from modules.safety.shell_known import KnownNames
from modules.safety.shell_script import Assignment, Call, Redirect
from modules.safety.shell_where import Where
from modules.safety.shell_words import Word


@dataclass(slots=True)
class Draft:
    """A call that may still get words, redirects and inputs."""

    raw: str
    folders: tuple[str, ...]
    words: list[Word] = field(default_factory=list)
    assignments: list[Assignment] = field(default_factory=list)
    upstream: list[int] = field(default_factory=list)
    inside: list[int] = field(default_factory=list)
    is_network_fed: bool = False
    input_text: str | None = None

    @property
    def name(self) -> str:
        """The program's name, as far as it is known."""
        return self.words[0].text if self.words else ""

    @property
    def texts(self) -> list[str]:
        """The words' values."""
        return [word.text for word in self.words]

    def done(self) -> Call:
        """Returns the call as a value."""
        return Call(
            words=tuple(self.words),
            raw=self.raw,
            assignments=tuple(self.assignments),
            folders=self.folders,
            upstream=tuple(self.upstream),
            inside=tuple(self.inside),
            is_network_fed=self.is_network_fed,
            input_text=self.input_text,
        )


class Notes:
    """The findings of one walk, and where it stands."""

    def __init__(self, ground: Ground, bodies: Mapping[str, str]) -> None:
        self.calls: list[Draft] = []
        self.redirects: list[Redirect] = []
        self.findings: list[Assessment] = []
        self.doubts: list[str] = []
        self.has_effect = False
        """True where something happens that is no command."""
        self.bodies = bodies
        """Here-documents taken out of the text, by the marker in their place."""
        self.markers: set[str] = set()
        """Markers that were met where a here-document may stand."""
        self.heredocs = 0
        """How many here-documents were met."""
        self.where = Where(ground)
        self.names = KnownNames()

    def doubt(self, why: str) -> None:
        """Takes in what can't be understood."""
        self.doubts.append(why)

    def runs(self, why: str) -> None:
        """Takes in syntax that may run commands."""
        self.names.certain.clear()
        self.dangerous("bash:run", why)

    def dangerous(self, category: str, why: str) -> None:
        """Takes in syntax that is dangerous in itself."""
        self.findings.append(Assessment(risk=Risk.DANGEROUS, categories=(category,), why=why))

    def critical(self, category: str, why: str) -> None:
        """Takes in syntax that a person must see."""
        self.findings.append(
            Assessment(risk=Risk.CRITICAL, categories=(category,), must_ask=True, why=why)
        )

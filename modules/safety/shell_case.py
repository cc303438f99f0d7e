"""One command being judged: what it was given, and what was found about it."""

import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from modules.records.decisions import Assessment, Risk
from modules.safety.ground import Ground
from modules.safety.path_names import folded, is_secret_name
from modules.safety.path_risk import (
    Spot,
    assess_delete,
    assess_write,
    is_within,
    locate,
    secret_reason,
)
from modules.safety.shell_globs import glob_hits_secret, guarded_names
from modules.safety.shell_script import Call, Script
from modules.safety.shell_words import UNKNOWN, Word

RUN = "bash:run"
_NAMERS = frozenset({"echo", "printf", "find", "fd", "ls"})
_LEAVES_OUT = frozenset({"-not", "!", "-prune", "-E", "--exclude", "-I", "--ignore"})
_OWN_STREAM = re.compile(r"/dev/(?:fd/[0-9]+|std(?:in|out|err))")
_SINKS = frozenset({"null", "stdout", "stderr", "stdin", "tty", "zero", "full", "fd"})


@dataclass(slots=True)
class Findings:
    """What was found about one command so far; the worst decides."""

    found: list[Assessment] = field(default_factory=list)
    forms: list[str] = field(default_factory=list)
    """The command under each name a deny rule may know it by."""
    plain_forms: list[str] = field(default_factory=list)
    """The command as an allow rule may know it: only harmless wrapping taken off."""
    reads: list[str] = field(default_factory=list)
    writes: list[str] = field(default_factory=list)
    nested: list[str] = field(default_factory=list)
    """Scripts it runs, as far as they are written out in it."""
    needs_exact: bool = False
    """True where a rule for the program's name doesn't cover what this use of it does."""

    def add(self, risk: Risk, category: str, why: str, *, must_ask: bool = False) -> None:
        """Notes one reason."""
        self.found.append(
            Assessment(
                risk=risk,
                categories=(category,) if risk is not Risk.SAFE else (),
                must_ask=must_ask or risk is Risk.CRITICAL,
                why=why,
            )
        )

    def opaque(self, why: str) -> None:
        """Notes that nobody can tell what it does."""
        self.needs_exact = True
        self.add(Risk.DANGEROUS, "bash:unparsed", why, must_ask=True)


@dataclass(frozen=True, slots=True)
class Case:
    """One command, wrappers taken off, with the script around it."""

    name: str
    args: tuple[Word, ...]
    call: Call
    script: Script
    ground: Ground
    findings: Findings
    judge: "Callable[[Case], None]"
    """Judges a command that this one runs."""

    def runs(self, why: str, category: str = RUN) -> None:
        """Notes that it runs code, or does what is as dangerous."""
        self.findings.add(Risk.DANGEROUS, category, why)

    def hides(self, why: str, category: str = RUN) -> None:
        """Notes that an option makes it run or delete what its name doesn't tell."""
        self.findings.needs_exact = True
        self.findings.add(Risk.DANGEROUS, category, why)

    def critical(self, category: str, why: str) -> None:
        """Notes that a person must see each use of it."""
        self.findings.add(Risk.CRITICAL, category, why)

    def changes(self, why: str) -> None:
        """Notes that it writes where it may, no path given."""
        self.findings.add(Risk.WRITE, "bash:write", why)

    def denies(self, category: str, why: str) -> None:
        """Notes that nobody may do this."""
        self.findings.add(Risk.DENY, category, why)

    def named(self, name: str) -> "Case":
        """Returns the case under the name its program is known by."""
        return replace(self, name=name)

    def starts(self, words: Sequence[Word]) -> None:
        """Judges the command that `words` are, run by this one."""
        if words:
            self.judge(replace(self, name=words[0].text, args=tuple(words[1:])))

    def reads(self, word: Word) -> None:
        """Notes that it reads the file `word` names."""
        for text in word.values():
            self._reads(text, word)

    def reads_each(self, words: Iterable[Word]) -> None:
        """Notes that it reads the files `words` name."""
        for word in words:
            self.reads(word)

    def _reads(self, text: str, word: Word) -> None:
        if word.has_glob and glob_hits_secret(text):
            self.denies("bash:secret", f"{word.raw!r} takes in files of secrets")
        if UNKNOWN in text:
            self._reads_found()
        if not text or text == UNKNOWN or _OWN_STREAM.fullmatch(text):
            return
        for folder in self.call.folders:
            spot = self.spot(text, folder)
            self.findings.reads.extend((spot.given, spot.resolved))
            why = secret_reason(spot, self.ground)
            if why:
                self.denies("bash:secret", why)

    def _reads_found(self) -> None:
        """Judges names that another command prints, for this one to read."""
        for place in (*self.call.inside, *self.call.upstream):
            texts = [word.text for word in self.script.calls[place].words]
            if not texts or texts[0] not in _NAMERS or _LEAVES_OUT.intersection(texts):
                continue
            for text in texts[1:]:
                name = folded(text.rsplit("/", 1)[-1])
                if is_secret_name(name) or glob_hits_secret(name):
                    self.denies("bash:secret", f"reads {text!r}, a file of secrets")

    def writes(self, word: Word) -> None:
        """Notes that it writes the file `word` names."""
        for text in word.values():
            if UNKNOWN in text:
                self.runs(f"writes to {word.raw!r}, which isn't known before it runs")
            elif text:
                self.writes_text(text, is_pattern=word.has_glob)

    def writes_each(self, words: Iterable[Word]) -> None:
        """Notes that it writes the files `words` name."""
        for word in words:
            self.writes(word)

    def writes_text(self, text: str, *, is_pattern: bool = False) -> None:
        """Notes that it writes the file at `text`, or the files a pattern there hits."""
        for folder in self.call.folders:
            if folder == UNKNOWN and not text.startswith("/"):
                self.findings.writes.append(text)
                self.runs(f"writes {text!r} in a folder that isn't known")
                continue
            for name in self._targets(text, folder, is_pattern=is_pattern):
                spot = self.spot(name, folder)
                self.findings.writes.extend((spot.given, spot.resolved))
                if spot.given.startswith("/dev/") and not is_within(spot.given, "/dev/shm"):
                    self._device(spot)
                else:
                    self.takes(assess_write(spot, self.ground))

    def _targets(self, text: str, folder: str, *, is_pattern: bool) -> list[str]:
        """Returns the paths to judge: a pattern itself and what it hits that matters."""
        if not is_pattern:
            return [text]
        head, slash, pattern = text.rpartition("/")
        head += slash
        if any(sign in head for sign in "*?["):
            self.runs(f"{text!r} may name files anywhere below")
        names = [f"{head}{name}" for name in guarded_names(pattern)]
        return [text, *(name for name in names if os.path.lexists(_joined(folder, name)))]

    def _device(self, spot: Spot) -> None:
        name = spot.given.split("/")[2]
        if name in ("tcp", "udp"):
            self.runs(f"opens the network device {spot.given!r}", "bash:net")
        elif name in ("pts", "ptmx"):
            self.denies("bash:outside", f"{spot.given!r} is somebody's terminal")
        elif name not in _SINKS:
            self.critical("bash:system", f"writes to the device {spot.given!r}")

    def deletes(self, word: Word) -> None:
        """Notes that it deletes the file or folder `word` names."""
        for text in word.values():
            if UNKNOWN in text:
                self.runs(f"deletes {word.raw!r}, which isn't known before it runs", "bash:rm")
            elif text:
                self._deletes(text, is_pattern=word.has_glob)

    def deletes_each(self, words: Iterable[Word]) -> None:
        """Notes that it deletes the files or folders `words` name."""
        for word in words:
            self.deletes(word)

    def _deletes(self, text: str, *, is_pattern: bool) -> None:
        for folder in self.call.folders:
            if folder == UNKNOWN and not text.startswith("/"):
                self.findings.writes.append(text)
                self.runs(f"deletes {text!r} in a folder that isn't known", "bash:rm")
                continue
            for name in self._targets(text, folder, is_pattern=is_pattern):
                spot = self.spot(name, folder, follows_last=False)
                self.findings.writes.extend((spot.given, spot.resolved))
                self.takes(assess_delete(spot, self.ground))

    def takes(self, found: Assessment) -> None:
        """Notes what was found about a path."""
        for category in found.categories:
            self.findings.add(
                found.risk, _SHELL_CATEGORIES[category], found.why, must_ask=found.must_ask
            )

    def spot(self, text: str, folder: str, *, follows_last: bool = True) -> Spot:
        """Returns where `text` leads from one of the command's folders."""
        start = "/\0" if folder == UNKNOWN else folder
        return locate(
            text.replace(UNKNOWN, "?"),
            self.ground,
            folder=start.replace("\0", "?"),
            follows_last=follows_last,
        )


_SHELL_CATEGORIES: Mapping[str, str] = {
    "file:write": "bash:write",
    "file:delete": "bash:rm",
    "file:secret": "bash:secret",
    "file:outside": "bash:outside",
    "file:protected": "bash:protected",
}


def _joined(folder: str, path: str) -> str:
    return path if path.startswith("/") else f"{folder}/{path}"

"""Draws the pictures of README.md: real runs in a terminal of a fixed size, as SVG.

`make pictures` runs it. The console is shown with the demo's scripted models, so no key is needed.
"""

import fcntl
import os
import pty
import select
import shutil
import struct
import subprocess
import sys
import tempfile
import termios
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from io import StringIO
from itertools import groupby
from pathlib import Path

import pyte
import yaml
from rich.console import Console
from rich.style import Style
from rich.text import Text

PROJECT = Path(__file__).resolve().parents[1]
PICTURES = PROJECT / "docs" / "pictures"
LONGEST_SECONDS = 180.0
CHECK = "python3 -m unittest discover -s tests"
TEMPLATE = """\
<svg viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg">
<style>
.{unique_id}-matrix {{ font-family: monospace; font-size: {char_height}px; }}
.{unique_id}-title {{ font-family: sans-serif; font-size: 18px; }}
{styles}
</style>
<defs>
<clipPath id="{unique_id}-clip-terminal">
<rect x="0" y="0" width="{terminal_width}" height="{terminal_height}" />
</clipPath>
{lines}
</defs>
{chrome}
<g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}
<g class="{unique_id}-matrix">
{matrix}
</g>
</g>
</svg>
"""


@dataclass(frozen=True)
class Step:
    """Something a person does: once `seen` stands on the screen, types `typed`."""

    seen: str
    typed: str


class Terminal(pyte.Screen):
    """A screen that answers the program's questions about it."""

    def __init__(self, columns: int, lines: int, descriptor: int) -> None:
        super().__init__(columns, lines)
        self.descriptor = descriptor

    def write_process_input(self, data: str) -> None:
        """Types what the terminal itself says."""
        os.write(self.descriptor, data.encode())

    @property
    def text(self) -> str:
        """What can be read on it."""
        return "\n".join(self.display)


def play(
    argv: Sequence[str],
    *,
    at: Path,
    variables: dict[str, str],
    size: tuple[int, int],
    steps: Sequence[Step] = (),
) -> Terminal:
    """Runs a program in a terminal of `size` (columns, lines); returns the screen it leaves."""
    ours, theirs = pty.openpty()
    columns, lines = size
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
    process = subprocess.Popen(
        argv,
        cwd=at,
        env={**os.environ, **variables, "TERM": "xterm-256color"},
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
    )
    os.close(theirs)
    screen = Terminal(columns, lines, ours)
    stream = pyte.ByteStream(screen)
    waiting = list(steps)
    try:
        for data in output(ours):
            stream.feed(data)
            if waiting and waiting[0].seen in screen.text:
                os.write(ours, waiting.pop(0).typed.encode())
                if not waiting and steps:
                    break
    finally:
        process.kill()
        process.wait()
        os.close(ours)
    return screen


def output(descriptor: int) -> Iterator[bytes]:
    """Yields what a program writes until it ends; raises TimeoutError when it takes too long."""
    end = time.monotonic() + LONGEST_SECONDS
    while select.select([descriptor], [], [], end - time.monotonic())[0]:
        try:
            data = os.read(descriptor, 65536)
        except OSError:  # the other end is closed: the program has ended
            return
        if not data:
            return
        yield data
    raise TimeoutError(f"It took longer than {LONGEST_SECONDS} s.")


def draw(screen: Terminal, *, title: str, name: str) -> None:
    """Writes what stands on the screen as a picture."""
    console = Console(record=True, width=screen.columns, file=StringIO())
    used = max((y for y, line in enumerate(screen.display) if line.strip()), default=0)
    for y in range(used + 1):
        console.print(line_text(screen, y), no_wrap=True, overflow="crop")
    PICTURES.mkdir(exist_ok=True)
    svg = console.export_svg(title=title, code_format=TEMPLATE, unique_id=name)
    (PICTURES / f"{name}.svg").write_text(svg, encoding="utf-8")


def line_text(screen: Terminal, y: int) -> Text:
    """Returns one line of the screen with its colours."""
    cells = [screen.buffer[y][x] for x in range(screen.columns)]
    line = Text()
    for (fg, bold), run in groupby(cells, key=lambda cell: (cell.fg, cell.bold)):
        line.append("".join(cell.data for cell in run), Style(color=colour(fg), bold=bold))
    line.rstrip()
    return line


def colour(name: str) -> str | None:
    """Returns rich's name of one of pyte's colours."""
    if name == "default":
        return None
    if len(name) == 6 and all(sign in "0123456789abcdef" for sign in name):
        return f"#{name}"
    return name.replace("bright", "bright_").replace("brown", "yellow")


def make_sample(folder: Path) -> None:
    """Makes the demo's sample repository."""
    text = (PROJECT / "modules" / "app" / "sample" / "files.yaml").read_text(encoding="utf-8")
    for name, content in yaml.safe_load(text).items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")
    identity = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")
    for words in (("init", "-qb", "main"), ("add", "-A"), ("commit", "-qm", "tally has a mean")):
        subprocess.run(["git", *identity, *words], cwd=folder, check=True, timeout=60)


def main() -> int:
    """Draws all pictures."""
    folder = Path(tempfile.mkdtemp(prefix="crewyard-pictures-"))
    program = [sys.executable, str(PROJECT / "main.py")]
    home = {"HOME": str(folder), "CREWYARD_HOME": str(folder / "own")}
    sample = folder / "tally"
    shutil.copy(PICTURES / "console.yaml", folder / "crew.yaml")
    try:
        demo = play([*program, "demo"], at=folder, variables=home, size=(120, 200))
        draw(demo, title="make demo", name="demo")
        make_sample(sample)
        console = play(
            [*program, "--model", "scripted:../crew.yaml", "--check", CHECK],
            at=sample,
            variables=home,
            size=(100, 40),
            steps=[
                Step("Say what you want", "Give tally a median, with tests.\r"),
                Step("n = no", "n\r"),
                Step("odd and even counts.", "/board\r"),
                Step("completed", ""),
            ],
        )
        draw(console, title="crewyard", name="console")
    finally:
        shutil.rmtree(folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())

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
from pathlib import Path

import pyte
from rich.console import Console
from rich.style import Style
from rich.text import Text

PROJECT = Path(__file__).resolve().parents[1]
PICTURES = PROJECT / "docs" / "pictures"
LONGEST_SECONDS = 180.0
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
    line = Text()
    for x in range(screen.columns):
        cell = screen.buffer[y][x]
        line.append(cell.data, Style(color=colour(cell.fg), bold=cell.bold))
    line.rstrip()
    return line


def colour(name: str) -> str | None:
    """Returns rich's name of one of pyte's colours."""
    if name == "default":
        return None
    if len(name) == 6 and all(sign in "0123456789abcdef" for sign in name):
        return f"#{name}"
    return name.replace("bright", "bright_").replace("brown", "yellow")


def main() -> int:
    """Draws all pictures."""
    folder = Path(tempfile.mkdtemp(prefix="crewyard-pictures-"))
    try:
        screen = play(
            [sys.executable, str(PROJECT / "main.py"), "demo"],
            at=folder,
            variables={"HOME": str(folder)},
            size=(120, 200),
        )
        draw(screen, title="make demo", name="demo")
    finally:
        shutil.rmtree(folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())

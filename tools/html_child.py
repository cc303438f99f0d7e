"""Turns a page of HTML into Markdown; run as a program of its own, so that it can be killed.

A page of some megabytes keeps a converter busy for long, and one that is nested deep enough for
ever. Standard input: one JSON object with the page's `url` and `charset`, a NUL, then the page.
Standard output: its title and text.
"""

import json
import re
import resource
import sys
from urllib.parse import urljoin

from bs4 import BeautifulSoup
from markdownify import ATX, MarkdownConverter

MOST_MEMORY_BYTES = 1 << 30
_NOT_READ = ("head", "script", "style", "noscript", "template", "svg", "iframe", "object", "form")
_IN_PLACE = re.compile(r"\s*data:", re.IGNORECASE)
"""A picture that stands in the page itself, as a long string of letters."""
_BLANK_LINES = re.compile(r"(?:[ \t]*\n){3,}")


def main() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY_BYTES, MOST_MEMORY_BYTES))
    head, _, page = sys.stdin.buffer.read().partition(b"\0")
    request = json.loads(head)
    text = to_markdown(page, url=request["url"], charset=request["charset"])
    sys.stdout.buffer.write(text.encode("utf-8", "replace"))


def to_markdown(page: bytes, *, url: str, charset: str) -> str:
    """Returns a page as Markdown, its links whole."""
    soup = BeautifulSoup(page, "html.parser", from_encoding=charset or None)
    title = soup.title.get_text(" ", strip=True) if soup.title else ""
    for tag in soup(_NOT_READ):
        tag.decompose()
    for image in soup.find_all("img", src=_IN_PLACE):
        image.replace_with(str(image.get("alt", "")))
    _make_links_whole(soup, url)
    try:
        text = MarkdownConverter(heading_style=ATX, bullets="-").convert_soup(soup)
    except RecursionError:
        text = soup.get_text("\n", strip=True)  # nested deeper than the converter goes
    text = _BLANK_LINES.sub("\n\n", text).strip()
    return f"Title: {title}\n\n{text}" if title else text


def _make_links_whole(soup: BeautifulSoup, url: str) -> None:
    for name, attribute in (("a", "href"), ("img", "src")):
        for tag in soup.find_all(name):
            link = tag.get(attribute)
            if not isinstance(link, str):
                continue
            try:
                tag[attribute] = urljoin(url, link)
            except ValueError:
                del tag[attribute]  # no address at all


if __name__ == "__main__":
    main()

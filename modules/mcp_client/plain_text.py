"""Words of a server, made fit to be sent on."""

import re

_SURROGATE = re.compile("[\ud800-\udfff]")


def without_surrogates(text: str) -> str:
    """Returns `text` with each lone surrogate, which no UTF-8 can hold, replaced by U+FFFD."""
    return _SURROGATE.sub("\ufffd", text)


def shortened(text: str, limit: int) -> str:
    """Returns `text`, cut to `limit` characters with an ellipsis where it is longer."""
    return text if len(text) <= limit else text[: limit - 1].rstrip() + "…"


def one_line(text: str, limit: int) -> str:
    """Returns `text` as one short line that can neither steer a terminal nor turn its order."""
    shown = "".join(sign if sign.isprintable() else " " for sign in text[: limit * 4])
    return shortened(" ".join(shown.split()), limit)

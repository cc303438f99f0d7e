from modules.mcp_client.plain_text import one_line


def test_one_line_when_the_text_steers_a_terminal_is_harmless() -> None:
    assert one_line("\x1b[2J a\r\nb\x9bc\ud800 \u202ed é", 40) == "[2J a b c d é"


def test_one_line_when_the_text_is_long_is_cut() -> None:
    assert one_line("x" * 1_000_000, 5) == "xxxx…"

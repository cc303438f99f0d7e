"""What the console needs before it draws its first line."""

from tests.processes import run_python


def test_importing_the_program_draws_in_nothing_heavy() -> None:
    heavy = run_python(
        """
        import sys
        import modules.app.cli, modules.app.console
        heavy = {"prompt_toolkit", "rich", "anthropic", "openai", "mcp", "pydantic", "watchfiles"}
        print(sorted(heavy & {name.partition(".")[0] for name in sys.modules}))
        """
    )

    assert heavy == "[]\n"

"""Crewyard: hands over to the command line, or to a worker's life."""

import sys

WORKER_COMMAND = "worker-process"


def main() -> int:
    """Runs the program and returns its exit code."""
    if sys.argv[1:2] == [WORKER_COMMAND]:
        from modules.app.worker import main as run_worker

        return run_worker()
    if sys.argv[1:] == ["--version"]:
        from modules import VERSION

        print(f"crewyard {VERSION}")
        return 0
    from modules.app.cli import main as run_cli

    return run_cli(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())

"""Where an agent stands: the folders its calls are judged against."""

from pathlib import Path

from modules.records.record import Record


class Ground(Record):
    """The folders and names one agent's calls are judged against."""

    root: Path
    """Where relative paths start: the lane of a worker, the checkout of the lead."""
    main_checkout: Path
    home: Path
    """The person's home folder, not the private one a worker's commands see."""
    user_folder: Path
    """Where this program keeps tokens, trust and grants; no agent reads or writes it."""
    tmp: Path | None = None
    """The agent's own temporary folder; None: it has none, and no other may be written."""
    is_worker: bool = False
    allowed_hosts: tuple[str, ...] = ()
    """`host`, `host:port`, address or network the person opened; beats the address table."""

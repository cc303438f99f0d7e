"""Folders that tests judge calls in."""

from pathlib import Path

from modules.safety.ground import Ground


def worker_ground() -> Ground:
    """Returns the ground of a worker in a lane that is on no disk."""
    return Ground(
        root=Path("/repo/.worktrees/w1"),
        main_checkout=Path("/repo"),
        home=Path("/home/u"),
        user_folder=Path("/home/u/.config/crewyard"),
        is_worker=True,
    )


def lead_ground() -> Ground:
    """Returns the ground of the lead in a checkout that is on no disk."""
    return Ground(
        root=Path("/repo"),
        main_checkout=Path("/repo"),
        home=Path("/home/u"),
        user_folder=Path("/home/u/.config/crewyard"),
    )


def ground_on_disk(folder: Path) -> Ground:
    """Makes a checkout with two lanes, a home and a user folder, for the first lane's worker."""
    main = folder / "repo"
    home = folder / "home"
    lane = main / ".worktrees" / "w1"
    for made in (lane / "src", main / "src", main / ".worktrees" / "w2", home / ".ssh"):
        made.mkdir(parents=True)
    for file in (lane / "src" / "app.py", main / "src" / "app.py", home / ".ssh" / "config"):
        file.write_text("x\n")
    return Ground(
        root=lane,
        main_checkout=main,
        home=home,
        user_folder=home / ".config" / "crewyard",
        is_worker=True,
    )

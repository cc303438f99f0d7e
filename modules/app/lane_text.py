"""A lane in words."""

from modules.git.lane_state import Lane, LaneState


def lane_text(lane: Lane, state: LaneState) -> str:
    """Returns a lane and its state for people and models."""
    lines = [
        f"{lane.name}: {lane.path}",
        f"branch {lane.branch}, made from {lane.base[:12]}, now at {state.head[:12]}",
    ]
    if state.unreadable or state.unfinished:
        lines.append(state.unreadable or f"a {state.unfinished} is unfinished")
    lines.append("uncommitted: " + (", ".join(state.dirty[:20]) or "nothing"))
    lines.append("changed against its base: " + (", ".join(state.files[:20]) or "nothing"))
    return "\n".join(lines)

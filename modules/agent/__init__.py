"""One agent's turn; it knows no tool by name and no team."""

"""Crewyard's own packages, one a room of the house; ARCHITECTURE.md holds the plan."""

VERSION = "0.1.0"

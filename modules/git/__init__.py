"""The repository: hardened git, lanes, the recipes of a landing, salvage."""

"""Files, locks, journals and settings on disk."""

"""Plain typed values every other package speaks in; they know nothing and do nothing."""

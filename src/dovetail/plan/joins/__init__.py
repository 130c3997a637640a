"""Everything the planner knows about one join: its ON clause, options, windows, keys and columns."""

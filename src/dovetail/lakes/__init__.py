"""Tables of lakes into the log: the rows that are appended to them, version by version."""

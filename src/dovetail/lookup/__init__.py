"""A stream joined with an external table: the table in memory, and rows looked up in it."""

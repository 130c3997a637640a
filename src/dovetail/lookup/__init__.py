"""A stream joined with a table that is outside: the table in memory, and rows looked up in it."""

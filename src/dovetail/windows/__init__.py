"""Which windows a row is in, when they close, and which rows are late: pure functions over columns."""

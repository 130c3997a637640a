"""Rows become segments of the log. No Spark here."""

"""Rows as the bytes of records."""

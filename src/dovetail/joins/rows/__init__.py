"""Rows of the log as a join reads them."""

"""Keeping applications running: what is wanted, what is seen, and what to do about the difference."""

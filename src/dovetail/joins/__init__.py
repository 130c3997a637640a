"""Joins as pure steps: one published algorithm a file. No clock, no I/O, no Spark."""

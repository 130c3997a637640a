"""Joins as pure steps, one published algorithm per file. No clock, no I/O, no Spark."""

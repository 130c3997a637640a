"""Benchmarks: one file per figure or table. The product never imports this package."""

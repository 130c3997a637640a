"""Kernels of the joins within one window: keys are 32-bit, rows are numbers, matches are pairs of row
numbers."""

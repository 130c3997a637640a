"""Kernels of slicing: lines of text files, taken apart and turned into values."""

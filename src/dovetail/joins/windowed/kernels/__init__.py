"""Kernels of the windowed join."""

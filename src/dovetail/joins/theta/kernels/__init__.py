"""Kernels of joins without keys."""

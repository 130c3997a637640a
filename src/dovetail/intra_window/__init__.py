"""Joins within one window: eight algorithms of *Parallelizing Intra-Window Join on Multicores* (SIGMOD
2021)."""

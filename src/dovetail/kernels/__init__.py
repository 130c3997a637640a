"""The hot loops: Numba and NumPy only, arrays in, arrays or index pairs out. No I/O, no Arrow, no Spark."""

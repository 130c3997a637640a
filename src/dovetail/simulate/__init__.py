"""Sliding-window joins on simulated cores: what rate a design holds, and where a row's time goes.

One file for each published design, the papers' own formulas beside them (`formulas.py`). A simulation is a
function of its setup, its costs, a rate and a seed: no clock, no I/O.
"""

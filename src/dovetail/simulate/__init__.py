"""Sliding-window joins on simulated cores: the rate that a design holds, and where a row's time goes.

The published designs come in two shapes, trees (`trees.py`) and chains (`chains.py`); the papers' own
formulas are beside them (`formulas.py`). A simulation is a function of its setup, its costs, a rate and a
seed: no clock, no I/O.
"""

"""The fault suite: seeded joins that are killed, started again, and compared with an oracle of their own.

`dovetail torture` runs it for as long as you like; `dovetail test` runs a sample.
"""

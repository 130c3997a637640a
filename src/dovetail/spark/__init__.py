"""Delivery on Spark: the only home of PySpark."""

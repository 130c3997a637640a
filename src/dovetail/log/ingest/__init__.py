"""Appends users' files to categories: Parquet, JSON lines, CSV.

Law: a file enters whole, in one commit, or not at all; and each of its rows is then in the category, or among
the rows kept aside with the reason.
"""

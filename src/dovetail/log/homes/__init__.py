"""The places a home can be: a local disk, or an object store."""

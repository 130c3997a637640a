"""The join within tumbling, hopping and session windows."""

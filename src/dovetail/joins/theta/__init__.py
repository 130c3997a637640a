"""The join by any condition, without an equality."""

"""A home on Kafka: files as records, segments as messages of one bucket each."""

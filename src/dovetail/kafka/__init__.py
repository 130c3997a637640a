"""Kafka topics into the log, and tables into topics. The only room that talks to brokers."""

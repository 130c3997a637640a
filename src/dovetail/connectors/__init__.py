"""External systems: their options, and how a batch gets there once. No Spark, and no import of a connector's
own library before a query needs it."""

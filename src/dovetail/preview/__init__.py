"""Two versions of an application over the same rows of the log: what comes out of the one, and of the other.

A preview runs both over the rows in the log. A shadow continues with new rows. Neither touches the running
application: they only read its log and the records of its steps."""

"""The client of HBase: on a real one where there is one, and on a fake where nonsense is wanted."""

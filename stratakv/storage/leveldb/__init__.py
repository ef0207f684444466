"""The embedded engine, and LevelDB's files."""

"""The embedded engine, and LevelDB's files read without it.

    engine          LevelDB through plyvel
    batches         rows into a WriteBatch
    deleted_tables  tables kept open so that deleting them stops nobody
    reserve         room on the disk for deleting
    usage           disk space and levels
    formats         log, MANIFEST and table files
    survey          what is damaged
    salvage         what can still be read
    backup          a copy while it is written to
    recovery        new files in the place of damaged ones
"""

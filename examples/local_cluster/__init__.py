"""ZooKeeper, HBase and three nodes of StrataKV on this machine: `make cluster`.

hbase     a whole HBase in one process of Java
programs  processes that are started, waited for and stopped
"""

"""What end-to-end tests stand on: real servers (servers), a client that shows bytes (wire),
a browser (browser), a real HBase (hbase), full disks (disks), and the one way to wait (waiting)."""

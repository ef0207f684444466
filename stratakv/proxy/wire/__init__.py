"""Bytes in, requests out; values in, bytes out. No sockets."""

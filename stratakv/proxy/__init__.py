"""Clients: sockets, RESP, sessions, dispatch and the commands."""

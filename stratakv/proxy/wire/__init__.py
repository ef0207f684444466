"""Bytes in, requests out; values in, bytes out. No sockets.

    requests  the parser
    replies   the values that handlers return
    encoding  their bytes in RESP2 and RESP3
    packing   commands as requests, for other servers
"""

"""A page to look into a running server: `stratakv console`, a process of its own.

It speaks to the server as any client does, over one connection a session, and knows nothing of the
server's insides; so it serves a plain Redis too. All but `command` needs aiohttp (extra `console`).

    command   the command of the command line
    settings  what it was started with
    app       the application: all of the below put together
    gate      what every request passes: host, origin, session, token, headers
    sessions  who is logged in, and how often one may try
    client    a connection to the server that comes again
    replies   bytes of RESP, one connection
    peer      what the server is, and what its user may do
    recorder  what the charts show: samples of minutes and hours
    samples   one sample, out of INFO and the metrics
    forecasts   how many keys expire soon
    histograms  percentiles of what is counted in buckets
    walks     the keys of a database by prefix, some at a time
    survey    what takes room, by key and prefix
    treemap   areas in the size of numbers
    values      a value, a page of it at a time
    saves       a value that replaces another only if that is still the one somebody saw
    forms     bytes as people read and write them
    markup    HTML whose every text is escaped
    frame     what is around each page
    pages     the pages
"""

"""The pages, each with what it does when a form of it is sent.

    access      log in and out, light and dark
    overview    the charts
    tiles       what is so now, above them
    keys        the keys of a database
    key         a key and its value
    key_facts   what is known of a key, around each of its views
    string_value  a string
    collection_value  a page of the elements of anything else
    editing     what changes a key
    rows        how a key is stored
    large       what is large, and what is used most
    slow        the slow log and the latency monitor
    command_times  which commands take the server's time
    clients     who is connected
    channels    what is published
    settings    the options of the server
    prompt      any command
"""

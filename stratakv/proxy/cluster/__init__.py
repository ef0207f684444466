"""The face of a Redis Cluster: which node has which slots, and what clients are told of it.

    membership   how a server becomes a node
    shared_code  scripts and functions that all nodes know
    departures   what becomes of clients when slots go
    views        what CLUSTER shows
    cluster      what this node knows of the cluster, and whose a request is
    links        connections between nodes
    topology     the nodes, and who has which slots: values that never change
"""

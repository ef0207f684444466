"""The face of a Redis Cluster: which node has which slots, and what clients are told of it.

    cluster    what this node knows of the cluster, and whose a request is
    topology   the nodes, and who has which slots: values that never change
"""

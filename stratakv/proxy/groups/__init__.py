"""Which groups of slots a node of several has, and how they come and go.

    ownership  takes groups, hands them over, loses them
    opening    what changes in the server when a group comes or goes
    registry   what nodes tell each other in ZooKeeper, as last seen
    records    the same as bytes, and as a topology
    plans      who is to have which group
"""

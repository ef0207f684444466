"""Who may do what: users and their rules. Nothing here knows of connections.

    passwords     what is kept of passwords, and how they are compared
    selectors     a set of rights: commands, keys and channels
    users         a user, and all of them
    rules         the words of ACL SETUSER
    describing    rights in these words again
    checking      whether a user may send a request
    acl_file      users in a file and in the configuration
    denials       what ACL LOG shows
    failures      addresses that guess passwords
"""

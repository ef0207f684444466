"""A node of a cluster, and several that are told who has which slots."""

"""Plans: which node is to have which group. Whoever computes one gets the same."""

from collections.abc import Sequence

NOBODY = ""


def spread(targets: Sequence[str], nodes: Sequence[str]) -> list[str]:
    """Who is to have each group, by node ids, so that no node has two more than another.

    What a node is to have already it keeps, as far as that is possible: few groups move.
    """
    if not nodes:
        return [NOBODY] * len(targets)
    counts = dict.fromkeys(sorted(nodes), 0)
    for node in targets:
        if node in counts:
            counts[node] += 1
    least, more = divmod(len(targets), len(counts))
    by_count = sorted(counts, key=lambda node: (-counts[node], node))
    room = {node: least + (place < more) for place, node in enumerate(by_count)}
    planned = []
    for node in targets:
        stays = room.get(node, 0) > 0
        planned.append(node if stays else NOBODY)
        if stays:
            room[node] -= 1
    free = iter([node for node in counts for _ in range(room[node])])
    return [node or next(free) for node in planned]

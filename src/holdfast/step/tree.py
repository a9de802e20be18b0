"""The one order in which replicas are added up.

A node is (low, size): the replicas low … low + size - 1. Its left part is the largest power of two that is smaller
than its size, so the tree over R replicas depends on R alone, and a run of neighbours holds few whole nodes.
"""

from collections.abc import Collection, Iterator
from typing import NamedTuple


class Node(NamedTuple):
    low: int
    size: int


def children(node: Node) -> tuple[Node, Node]:
    """The two parts of a node of more than one replica."""
    left = 1 << (node.size - 1).bit_length() - 1
    return Node(node.low, left), Node(node.low + left, node.size - left)


def nodes_within(root: Node, low: int, high: int) -> Iterator[Node]:
    """The largest nodes of the tree that together hold exactly low … high - 1, from left to right."""
    if low <= root.low and root.low + root.size <= high:
        yield root
    elif low < root.low + root.size and root.low < high:
        for child in children(root):
            yield from nodes_within(child, low, high)


def parent(root: Node, node: Node) -> Node | None:
    """The node one level up; None for the root."""
    above = None
    while root != node:
        above = root
        left, right = children(root)
        root = left if node.low < right.low else right
    return above


def sum_order(root: Node, present: Collection[Node]) -> list[Node | None]:
    """How to add what is present, as a reverse Polish program: a node pushes its partial, None adds the top two."""
    if root in present:
        return [root]
    left, right = children(root)
    return [*sum_order(left, present), *sum_order(right, present), None]


def missing(root: Node, present: Collection[Node]) -> list[int]:
    """The replicas that no present node holds, in order."""
    held = {replica for low, size in present for replica in range(low, low + size)}
    return [replica for replica in range(root.low, root.low + root.size) if replica not in held]


def largest_cover(nodes: Collection[Node]) -> list[Node]:
    """Without those that lie inside another, from left to right."""
    cover: list[Node] = []
    for node in sorted(nodes, key=lambda node: (node.low, -node.size)):
        if not cover or node.low >= cover[-1].low + cover[-1].size:
            cover.append(node)
    return cover

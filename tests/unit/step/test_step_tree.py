"""One tree for each number of replicas, whoever holds which part of it."""

import itertools
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.step.tree import Node, children, largest_cover, missing, nodes_within, parent, sum_order

SIZES = st.integers(1, 200)


def inner_and_leaves(root: Node) -> list[Node]:
    if root.size == 1:
        return [root]
    left, right = children(root)
    return [root, *inner_and_leaves(left), *inner_and_leaves(right)]


def written(root: Node) -> str:
    """The sum as one would write it down, by recursion."""
    if root.size == 1:
        return str(root.low)
    left, right = children(root)
    return f"({written(left)}+{written(right)})"


def worked_out(program: Sequence[Node | None]) -> str:
    stack: list[str] = []
    for item in program:
        if item is None:
            right, left = stack.pop(), stack.pop()
            stack.append(f"({left}+{right})")
        else:
            stack.append(written(item))
    (whole,) = stack
    return whole


@given(SIZES, st.data())
def test_sum_is_the_same_whatever_partials_there_are(size: int, data: st.DataObject) -> None:
    root = Node(0, size)
    cuts = sorted({0, size, *data.draw(st.lists(st.integers(0, size)))})
    cover = [node for low, high in itertools.pairwise(cuts) for node in nodes_within(root, low, high)]
    assert worked_out(sum_order(root, cover)) == written(root)


def test_tree_never_changes() -> None:
    assert written(Node(0, 7)) == "(((0+1)+(2+3))+((4+5)+6))"
    assert written(Node(0, 6)) == "(((0+1)+(2+3))+(4+5))"


@given(SIZES, st.data())
def test_nodes_within_are_neighbours_that_fill_the_range(size: int, data: st.DataObject) -> None:
    low = data.draw(st.integers(0, size))
    high = data.draw(st.integers(low, size))
    root = Node(0, size)
    found = list(nodes_within(root, low, high))
    assert [replica for node in found for replica in range(node.low, node.low + node.size)] == list(range(low, high))
    assert set(found) <= set(inner_and_leaves(root))


@given(SIZES, st.data())
def test_nodes_within_are_as_large_as_can_be(size: int, data: st.DataObject) -> None:
    low = data.draw(st.integers(0, size))
    high = data.draw(st.integers(low, size))
    root = Node(0, size)
    found = set(nodes_within(root, low, high))
    for node in found:
        above = parent(root, node)
        assert above is None or above.low < low or above.low + above.size > high


@given(SIZES, st.data())
def test_children_and_parent_are_inverse(size: int, data: st.DataObject) -> None:
    root = Node(0, size)
    node = data.draw(st.sampled_from(inner_and_leaves(root)))
    if node.size > 1:
        left, right = children(node)
        assert (left.low, left.low + left.size, right.low + right.size) == (
            node.low,
            right.low,
            node.low + node.size,
        )
        assert left.size >= right.size
        assert left.size & (left.size - 1) == 0
        assert parent(root, left) == parent(root, right) == node
    above = parent(root, node)
    assert (above is None) == (node == root)
    assert above is None or node in children(above)


@given(SIZES, st.data())
def test_missing_is_what_no_node_holds(size: int, data: st.DataObject) -> None:
    root = Node(0, size)
    present = data.draw(st.lists(st.sampled_from(inner_and_leaves(root)), max_size=5))
    absent = missing(root, present)
    assert absent == sorted(absent)
    assert all(
        (replica in absent) != any(node.low <= replica < node.low + node.size for node in present)
        for replica in range(size)
    )


@given(SIZES, st.data())
def test_largest_cover_leaves_out_what_lies_in_another(size: int, data: st.DataObject) -> None:
    nodes = inner_and_leaves(Node(0, size))
    present = data.draw(st.sets(st.sampled_from(nodes)))
    cover = largest_cover(present)
    assert cover == sorted(cover)
    assert set(cover) <= present
    held = [replica for node in cover for replica in range(node.low, node.low + node.size)]
    assert len(held) == len(set(held))
    assert set(held) == {replica for node in present for replica in range(node.low, node.low + node.size)}


def test_sum_of_an_incomplete_cover_is_refused() -> None:
    with pytest.raises((ValueError, RecursionError)):
        sum_order(Node(0, 2), [Node(0, 1)])

"""Where everything lies: aligned, apart from each other, and the same in every process."""

import itertools
from collections.abc import Sequence
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from holdfast.errors import ModelError
from holdfast.job import SGD, AdamW, AnyOptimizer
from holdfast.job.optimizer import Group
from holdfast.step.layout import BLOCK, Entry, Layout, Room, Shapes, group_of, layout_of, piece_states, shapes_of
from holdfast.step.rules import elementwise
from holdfast.step.state import sections

Span = tuple[int, int]


class Bag(nn.Module):
    """Parameters and buffers of any sizes, none of which takes memory."""

    def __init__(self, sizes: Sequence[int], frozen: Sequence[int] = (), buffers: Sequence[torch.dtype] = ()) -> None:
        super().__init__()
        for index, size in enumerate(sizes):
            self.register_parameter(f"p{index}", nn.Parameter(torch.empty(size, device="meta")))
        for index, size in enumerate(frozen):
            self.register_parameter(f"f{index}", nn.Parameter(torch.empty(size, device="meta"), requires_grad=False))
        for index, dtype in enumerate(buffers):
            self.register_buffer(f"b{index}", torch.empty(3, dtype=dtype, device="meta"))


class Whole:
    """A whole-tensor rule that keeps a row and a number per tensor."""

    def state_shapes(self, parameter: torch.Tensor) -> dict[str, tuple[int, ...]]:
        return {"row": (len(parameter), 1), "step": ()}


def shapes(model: nn.Module, optimizer: AnyOptimizer, whole: Any = None) -> Shapes:
    rule = elementwise(optimizer)
    return shapes_of(model, optimizer, len(rule.initial) if rule and whole is None else 0, whole)


def layout(found: Shapes, replicas: int = 4, keeps_total: bool = True) -> Layout:
    return layout_of(found, Room(replicas, 10, keeps_total, evidence_rows=7, evidence_width=2, evidence_chunk=3))


SIZES = st.lists(st.integers(1, 3 * BLOCK), min_size=1, max_size=6)
DTYPES = st.lists(st.sampled_from([torch.float32, torch.float64, torch.int64, torch.bool, torch.bfloat16]), max_size=4)
GROUPED = AdamW(groups=(Group(match="p0"), Group(match="p[12]", lr_scale=0.5)))


@given(SIZES, st.booleans())
def test_parameters_are_aligned_and_apart(sizes: list[int], by_tensor: bool) -> None:
    found = shapes(Bag(sizes), AdamW(), Whole() if by_tensor else None)
    assert [entry.size for entry in found.trainable] == sizes
    assert all(4 * entry.offset % 64 == 0 for entry in found.trainable)
    assert_apart([span(entry) for entry in found.trainable], found.length)


@given(SIZES)
def test_pieces_cut_the_flat_buffer_into_blocks(sizes: list[int]) -> None:
    found = shapes(Bag([*sizes, 5, 6]), GROUPED)
    assert next((piece.start, piece.stop) for piece in found.pieces)[0] == 0
    assert all(a.stop == b.start for a, b in zip(found.pieces, found.pieces[1:], strict=False))
    assert found.pieces[-1].stop == found.length
    assert all(piece.stop - piece.start <= BLOCK and piece.start % 1024 == 0 for piece in found.pieces)


@given(SIZES)
def test_groups_never_share_a_piece(sizes: list[int]) -> None:
    found = shapes(Bag([*sizes, 5, 6]), GROUPED)
    for entry in found.trainable:
        assert entry.group == group_of(entry.name, GROUPED)
        touched = [p for p in found.pieces if p.start < entry.offset + entry.size and entry.offset < p.stop]
        assert {piece.group for piece in touched} == {entry.group}


def test_blocks_are_whole_where_there_are_several() -> None:
    found = shapes(Bag([BLOCK + 1, 7]), SGD(groups=(Group(match="p1"),)))
    assert [piece.stop - piece.start for piece in found.pieces] == [BLOCK, BLOCK, 1024]


@given(SIZES)
def test_a_whole_tensor_rule_has_one_piece_for_each_tensor(sizes: list[int]) -> None:
    found = shapes(Bag(sizes), AdamW(), Whole())
    assert [(piece.start, piece.stop) for piece in found.pieces] == [span(entry) for entry in found.trainable]
    states = [state for piece in found.pieces for state in piece_states(found, piece)]
    assert [stop - start for start, stop in states] == [size for n in sizes for size in (n, 1)]
    assert all(4 * start % 64 == 0 for start, _ in states)
    assert_apart(states, found.state_length)


@given(SIZES)
def test_state_of_a_piece_lies_as_the_piece_does(sizes: list[int]) -> None:
    found = shapes(Bag(sizes), AdamW())
    for piece in found.pieces:
        mean, square = piece_states(found, piece)
        assert mean == (piece.start, piece.stop)
        assert square == (found.length + piece.start, found.length + piece.stop)


@settings(deadline=None)
@given(SIZES, st.lists(st.integers(1, 100), max_size=3), DTYPES, st.integers(1, 100), st.booleans())
def test_sections_do_not_overlap(
    sizes: list[int], frozen: list[int], dtypes: list[torch.dtype], replicas: int, keeps_total: bool
) -> None:
    found = layout(shapes(Bag(sizes, frozen, dtypes), AdamW()), replicas, keeps_total)
    starts = sorted(found.at.values())
    assert starts == list(found.at.values())
    assert all(start % 64 == 0 for start in starts)
    kept = [(part["offset"], part["offset"] + part["bytes"]) for part in sections(found, 10)]
    assert_apart(kept, found.size)
    inside = [part for part in sections(found, 10) if part["name"] != "history"]
    low, high = found.at["parameters"], max(part["offset"] + part["bytes"] for part in inside)
    assert all(low <= part["offset"] for part in inside)
    assert high <= found.at["shadow"]
    assert found.at["shadow"] + (high - low) <= found.at["total"]
    assert found.at["total"] + 4 * found.shapes.length * keeps_total <= found.at["undo"]
    assert found.at["undo"] + found.undo_bytes * found.room.seats <= found.at["slots"]
    assert found.size == found.at["slots"] + found.slot_bytes * found.room.seats * found.room.slots_per_seat


def test_a_slot_and_an_undo_log_hold_what_is_put_there() -> None:
    found = layout(shapes(Bag([100, 2000], buffers=[torch.float32, torch.int64]), AdamW()))
    assert found.slot_bytes >= 4 * found.shapes.length + 8 * (3 + 2) + found.shapes.buffer_bytes
    assert found.undo_bytes == 3 * 4 * found.shapes.largest_piece


def test_a_model_of_many_gigabytes_has_its_place() -> None:
    sizes = [3_000_000_000, 2_000_000_001, 7]
    found = layout(shapes(Bag(sizes), AdamW()), replicas=64)
    assert_apart([span(entry) for entry in found.shapes.trainable], found.shapes.length)
    parts = sections(found, 10)
    assert_apart([(part["offset"], part["offset"] + part["bytes"]) for part in parts], found.size)
    assert sum(part["bytes"] for part in parts if part["name"] != "history") == 3 * 4 * sum(sizes)
    # A mark of the undo log has 22 bits for the number of the piece.
    assert len(found.shapes.pieces) < 1 << 22


def test_digest_never_changes() -> None:
    model = Bag([100, 2000], [5], [torch.float32, torch.int64])
    assert layout(shapes(model, GROUPED_PAIR)).digest == layout(shapes(model, GROUPED_PAIR)).digest
    assert layout(shapes(model, GROUPED_PAIR)).digest == "79cb06ae0cba6951"


GROUPED_PAIR = AdamW(groups=(Group(match="p1"),))


def test_digest_tells_layouts_apart() -> None:
    plain = layout(shapes(Bag([100, 2000]), AdamW()))
    others = [
        layout(shapes(Bag([2000, 100]), AdamW())),
        layout(shapes(Bag([100, 2001]), AdamW())),
        layout(shapes(Bag([100, 2000]), SGD())),
        layout(shapes(Bag([100, 2000]), AdamW()), replicas=5),
        layout(shapes(Bag([100, 2000]), AdamW()), keeps_total=False),
    ]
    assert len({plain.digest, *(other.digest for other in others)}) == 6


def test_first_group_that_matches_wins() -> None:
    optimizer = SGD(groups=(Group(match="*.bias"), Group(match="head.*")))
    names = ["head.bias", "head.weight", "body.weight"]
    assert [group_of(name, optimizer) for name in names] == [1, 2, 0]


def test_a_group_without_parameters_is_refused() -> None:
    with pytest.raises(ModelError, match=r"match = '\*\.bais'.*names are like 'p0'"):
        shapes(Bag([3]), SGD(groups=(Group(match="*.bais"),)))


def test_half_precision_parameters_are_refused() -> None:
    with pytest.raises(ModelError, match=r"'weight' is torch\.bfloat16.*train\.precision"):
        shapes(nn.Linear(2, 2).bfloat16(), SGD())


def test_nothing_to_train_is_refused() -> None:
    with pytest.raises(ModelError, match="nothing to train"):
        shapes(Bag([], [4]), SGD())


def span(entry: Entry) -> Span:
    return entry.offset, entry.offset + entry.size


def assert_apart(spans: Sequence[Span], end: int) -> None:
    ordered = sorted(spans)
    assert all(a[1] <= b[0] for a, b in itertools.pairwise(ordered))
    assert ordered[0][0] >= 0
    assert ordered[-1][1] <= end

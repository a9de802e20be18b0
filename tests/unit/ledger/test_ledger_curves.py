import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.ledger.curves import CurveWriter

accumulator = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")


def read(directory):
    events = accumulator.EventAccumulator(str(directory), size_guidance={accumulator.SCALARS: 0})
    events.Reload()
    return {tag: [(e.step, e.value, e.wall_time) for e in events.Scalars(tag)] for tag in events.Tags()["scalars"]}


def test_tensorboard_reads_what_was_written(tmp_path):
    with CurveWriter(tmp_path / "run") as curves:
        curves.scalar("train/loss", 0.5, 0, 100.25)
        curves.scalar("train/loss", 0.25, 300, 101.5)
        curves.scalar("prüfung/auc", 0.75, 1 << 40, 102.0)
    assert read(tmp_path / "run") == {
        "train/loss": [(0, 0.5, 100.25), (300, 0.25, 101.5)],
        "prüfung/auc": [(1 << 40, 0.75, 102.0)],
    }


def test_points_are_seen_after_a_flush(tmp_path):
    with CurveWriter(tmp_path) as curves:
        curves.scalar("loss", 1.0, 1, 1.0)
        curves.flush()
        assert read(tmp_path) == {"loss": [(1, 1.0, 1.0)]}


def test_two_writers_of_one_second_have_files_of_their_own(tmp_path):
    for step in (1, 2):
        with CurveWriter(tmp_path) as curves:
            curves.scalar("loss", 1.0, step, 1.0)
    assert len(list(tmp_path.iterdir())) == 2
    assert [step for step, _, _ in read(tmp_path)["loss"]] == [1, 2]


def test_what_no_float32_can_hold_is_written_as_near_as_can_be(tmp_path):
    with CurveWriter(tmp_path) as curves:
        for step, value in enumerate([1e300, -1e300, math.nan]):
            curves.scalar("x", value, step, 0.0)
    values = [value for _, value, _ in read(tmp_path)["x"]]
    assert values[:2] == [math.inf, -math.inf]
    assert math.isnan(values[2])


@settings(max_examples=15, deadline=None)
@given(st.lists(st.tuples(st.floats(width=32, allow_nan=False), st.integers(0, 2**62)), min_size=1, max_size=20))
def test_any_points_come_back(tmp_path_factory, points):
    directory = tmp_path_factory.mktemp("curves")
    points = sorted(points, key=lambda point: point[1])
    with CurveWriter(directory) as curves:
        for value, step in points:
            curves.scalar("any", value, step, 1.0)
    assert [(value, step) for step, value, _ in read(directory)["any"]] == points

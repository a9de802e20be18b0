"""Rows of a file as inputs of a model, and outputs as predictions."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from holdfast.cli.inputs import read_inputs
from holdfast.cli.predictions import Predictions, meaning
from holdfast.data.source import Dataset, TensorSource
from holdfast.errors import DataError


def dataset(inputs: Any, **info: Any) -> Dataset:
    return Dataset(TensorSource(inputs, torch.zeros(2)), None, info)


FEATURES = dataset(torch.zeros(2, 3), feature_mean=[1.0, 2.0, 3.0], feature_deviation=[1.0, 1.0, 2.0])
IMAGES = dataset(torch.zeros(2, 1, 2, 2))
BAGS = dataset(torch.zeros(2, 4, dtype=torch.int64), vocabulary_size=10)


def saved(folder: Path, array: Any) -> Path:
    np.save(folder / "rows.npy", array)
    return folder / "rows.npy"


def test_features_are_put_on_the_scale_of_training(tmp_path: Path) -> None:
    found = read_inputs(saved(tmp_path, [[1.0, 2.0, 3.0], [2.0, 2.0, 7.0]]), FEATURES)
    assert torch.equal(found, torch.tensor([[0.0, 0.0, 0.0], [1.0, 0.0, 2.0]]))


def test_flat_rows_become_images(tmp_path: Path) -> None:
    assert read_inputs(saved(tmp_path, np.ones((5, 4), np.uint8)), IMAGES).shape == (5, 1, 2, 2)


def test_bags_may_be_wider(tmp_path: Path) -> None:
    found = read_inputs(saved(tmp_path, [[1, 2, 3, 4, 5, 9]]), BAGS)
    assert (found.dtype, found.tolist()) == (torch.int64, [[1, 2, 3, 4, 5, 9]])


def test_columns_are_found_by_name(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("b,label,a\n2,9,1\n")
    known = dataset(torch.zeros(2, 2), columns=["a", "b"])
    assert read_inputs(tmp_path / "rows.csv", known).tolist() == [[1.0, 2.0]]
    (tmp_path / "rows.csv").write_text("b,label,c\n2,9,1\n")
    with pytest.raises(DataError, match="has no column `a`, which the model was trained on"):
        read_inputs(tmp_path / "rows.csv", known)


def test_named_inputs_come_from_named_arrays(tmp_path: Path) -> None:
    np.savez(tmp_path / "rows.npz", x=np.ones((3, 2)))
    assert read_inputs(tmp_path / "rows.npz", dataset({"x": torch.zeros(2, 2)}))["x"].shape == (3, 2)
    with pytest.raises(DataError, match=r"takes the inputs x, y: give a \.npz file with arrays of these names"):
        read_inputs(tmp_path / "rows.npz", dataset({"x": torch.zeros(2, 2), "y": torch.zeros(2, 1)}))


@pytest.mark.parametrize(
    ("rows", "known", "sentence"),
    [
        (np.zeros((2, 7)), FEATURES, "a row of .* has 7 numbers, and the model takes 3"),
        (np.array([["a"]]), FEATURES, "must be rows of numbers"),
        (np.zeros((0, 3)), FEATURES, "at least one"),
        (np.array([[1.5, 2]]), BAGS, "takes ids, whole numbers from 0 below 10"),
        (np.array([[1, 10]]), BAGS, "takes ids, whole numbers from 0 below 10"),
        (np.array([[1, 2]]), dataset(torch.zeros(2, 2), task="language"), "this is a language model"),
        (np.array([[1, 2]]), dataset((torch.zeros(2, 2), torch.zeros(2, 2))), "this model takes tuples of inputs"),
        (np.array([object()]), FEATURES, "no plain array of numbers"),
    ],
)
def test_other_inputs_are_refused(tmp_path: Path, rows: Any, known: Dataset, sentence: str) -> None:
    with pytest.raises(DataError, match=sentence):
        read_inputs(saved(tmp_path, rows), known)


@pytest.mark.parametrize("name", ["rows.npy", "rows.csv", "rows.txt"])
def test_a_missing_file(tmp_path: Path, name: str) -> None:
    with pytest.raises(DataError, match=r"cannot be read|of no known kind"):
        read_inputs(tmp_path / name, FEATURES)


def test_outputs_get_their_meaning() -> None:
    classes = meaning(torch.tensor([[0.0, 2.0, 1.0]]), {"task": "classification"})
    assert classes.prediction.tolist() == [1]
    assert classes.probability is not None
    assert classes.probability.sum() == pytest.approx(1.0)
    assert meaning(torch.tensor([-3.0, 3.0]), {"task": "binary"}).prediction.tolist() == [0, 1]
    known = {"task": "regression", "target_mean": 100.0, "target_deviation": 10.0}
    assert meaning(torch.tensor([1.5]), known).prediction.tolist() == [115.0]


def test_predictions_as_a_table() -> None:
    made = Predictions(np.array([1, 0]), np.array([[0.25, 0.75], [1.0, 0.0]]))
    assert made.csv() == "prediction,probability_0,probability_1\n1,0.25,0.75\n0,1.0,0.0\n"

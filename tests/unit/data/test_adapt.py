"""Whatever the user has becomes a Dataset, or one sentence that says what is wrong."""

from collections import namedtuple
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from torch.utils.data import IterableDataset, Subset, TensorDataset

from holdfast.data.adapt import as_dataset
from holdfast.data.source import Dataset, TensorSource, leaves, map_leaves
from holdfast.errors import DataError

FEATURES = torch.arange(12.0).reshape(6, 2)
LABELS = torch.tensor([0, 1, 2, 0, 1, 2])
SOME = np.array([4, 1])


class Items:
    """A map-style data set as users write them."""

    def __init__(self, items: list[Any]) -> None:
        self.items = items

    def __len__(self) -> int:
        return len(self.items)

    def __getitem__(self, index: int) -> Any:
        return self.items[index]


def check_is_the_example(dataset: Dataset) -> None:
    inputs, targets = dataset.train.fetch(SOME)
    assert torch.equal(inputs, FEATURES[SOME])
    assert torch.equal(targets, LABELS[SOME])
    assert (inputs.dtype, targets.dtype) == (torch.float32, torch.int64)


@pytest.mark.parametrize(
    "data",
    [
        (FEATURES, LABELS),
        (FEATURES.numpy().astype(np.float64), LABELS.numpy().astype(np.int16)),
        (FEATURES.numpy(), LABELS.numpy().astype(np.uint8)),
        TensorDataset(FEATURES, LABELS),
        Subset(TensorDataset(FEATURES, LABELS), range(6)),
        Items(list(zip(FEATURES, LABELS.tolist(), strict=True))),
        list(zip(FEATURES.double().numpy(), LABELS, strict=True)),
        [{"x": x, "label": y} for x, y in zip(FEATURES, LABELS, strict=True)],
        pd.DataFrame({"a": FEATURES[:, 0], "label": LABELS, "b": FEATURES[:, 1]}),
        TensorSource(FEATURES, LABELS),
        Dataset(TensorSource(FEATURES, LABELS)),
    ],
    ids=lambda data: type(data).__name__,
)
def test_one_example_in_many_forms(data: Any) -> None:
    dataset = as_dataset(data)
    check_is_the_example(dataset)
    assert (len(dataset.train), dataset.test) == (6, None)


def test_pairs_of_anything_are_training_and_test() -> None:
    for test in (
        (FEATURES[:2], LABELS[:2]),
        TensorDataset(FEATURES[:2], LABELS[:2]),
        Items([(FEATURES[0], 1)] * 2),
    ):
        dataset = as_dataset(((FEATURES, LABELS), test))
        check_is_the_example(dataset)
        assert dataset.test is not None
        assert len(dataset.test) == 2
    assert as_dataset(((FEATURES, LABELS), None)).test is None


def test_inputs_may_be_trees() -> None:
    inputs, _ = as_dataset(({"a": FEATURES, "b": (LABELS, [FEATURES])}, LABELS)).train.fetch(SOME)
    assert torch.equal(inputs["b"][1][0], FEATURES[SOME])
    items = [{"a": FEATURES[0], "b": (1, [2.0]), "y": 1}] * 5
    inputs, targets = as_dataset(items).train.fetch(SOME)
    assert torch.equal(inputs["b"][0], torch.tensor([1, 1]))
    assert torch.equal(inputs["b"][1][0], torch.tensor([2.0, 2.0]))
    assert torch.equal(targets, torch.tensor([1, 1]))


def test_named_tuples_stay_what_they_are() -> None:
    pair = namedtuple("pair", "left right")
    assert map_leaves(lambda leaf: leaf + 1, pair(1, [2])) == pair(2, [3])
    assert list(leaves({"a": pair(1, [2]), "b": 3})) == [1, 2, 3]


def test_images_stay_small_and_arrays_are_not_copied() -> None:
    images = np.zeros((4, 3, 2, 2), np.uint8)
    assert as_dataset((images, np.arange(4))).train.fetch(SOME[1:])[0].dtype == torch.uint8
    features = np.zeros((4, 2), np.float32)
    source = as_dataset((features, np.arange(4))).train
    features[:] = 1
    assert source.fetch(SOME[1:])[0].sum() == 2
    features.flags.writeable = False
    assert len(as_dataset((features, np.arange(4))).train) == 4


def test_a_replica_without_samples_gets_an_empty_batch() -> None:
    nothing = np.empty(0, np.int64)
    for data in ((FEATURES, LABELS), Items(list(zip(FEATURES, LABELS, strict=True)))):
        inputs, targets = as_dataset(data).train.fetch(nothing)
        assert (inputs.shape, targets.shape) == ((0, 2), (0,))


@pytest.mark.parametrize(
    ("data", "info"),
    [
        ((FEATURES, LABELS), {"task": "classification", "n_classes": 3, "n_features": 2}),
        (
            ((FEATURES, LABELS), (FEATURES, LABELS + 1)),
            {"task": "classification", "n_classes": 4, "n_features": 2},
        ),
        ((FEATURES, (LABELS > 0).float()), {"task": "binary", "n_features": 2}),
        ((FEATURES, LABELS > 0), {"task": "binary", "n_features": 2}),
        ((FEATURES, FEATURES[:, 0]), {"task": "regression", "n_features": 2}),
        ((FEATURES.long(), FEATURES.long() + 1), {"task": "language", "vocabulary_size": 13}),
        ((FEATURES, LABELS - 1), {"n_features": 2}),
        ((FEATURES.reshape(6, 1, 1, 2), LABELS), {"task": "classification", "n_classes": 3, "n_features": 2}),
        (({"a": FEATURES}, LABELS), {}),
        (Items([(FEATURES[0], 1)]), {}),
    ],
)
def test_what_data_tell_about_the_model(data: Any, info: dict[str, Any]) -> None:
    assert as_dataset(data).info == info


class Broken(Items):
    def __getitem__(self, index: int) -> Any:
        raise OSError(f"no file {index}.png")


class Stream(IterableDataset[Any]):
    def __iter__(self) -> Any:
        return iter(())


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        ((FEATURES[:0], LABELS[:0]), "the training data are empty"),
        (((FEATURES, LABELS), (FEATURES[:0], LABELS[:0])), "the test data are empty"),
        ([], "the training data are empty"),
        ((FEATURES, LABELS[:5]), r"of one number, not \[6, 5\]"),
        ((FEATURES, torch.tensor(1)), r"of one number, not \[6, None\]"),
        ((FEATURES, LABELS, FEATURES), "a tuple of 3"),
        (np.array(["a"]), "data of type ndarray cannot be used"),
        ((np.array(["a"]), np.array([1])), "a value of type ndarray is no number"),
        (Stream(), "it can only be iterated over"),
        (7, "data of type int cannot be used: give a"),
        ("digits.csv", "data of type str cannot be used"),
        (pd.DataFrame({"a": [1], "b": [2]}), "target is unclear among the columns a, b"),
        (pd.DataFrame({"label": [1], "y": [2], "a": [3]}), "target is unclear"),
        (pd.DataFrame({"label": [1]}), "no column but its target `label`"),
        (pd.DataFrame({"a": ["red"], "label": [1]}), "column `a` of the data frame holds .*, not numbers"),
    ],
)
def test_unfit_data_give_one_sentence(data: Any, sentence: str) -> None:
    with pytest.raises(DataError, match=sentence):
        as_dataset(data)


@pytest.mark.parametrize(
    ("items", "sentence"),
    [
        (Broken([1, 2, 3, 4, 5]), "item 4 of the data set failed: OSError: no file 4.png"),
        (Items([1] * 5), "item 4 of the data set is of type int: give"),
        (Items([(1, 2, 3)] * 5), "item 4 of the data set has 3 parts"),
        (Items([{"x": 1, "z": 2}] * 5), "item 4 of the data set has the keys x, z"),
        (Items([("text", 1)] * 5), "item 4 of the data set cannot be used: a value of type str is no number"),
        (
            Items([(torch.zeros(n), 1) for n in range(5)]),
            r"item 1 of the data set has the shape \[1\] and item 4 \[4\]",
        ),
    ],
)
def test_a_failing_item_is_named(items: Items, sentence: str) -> None:
    with pytest.raises(DataError, match=sentence):
        as_dataset(items).train.fetch(SOME)


def test_a_frame_can_name_its_target() -> None:
    frame = pd.DataFrame({"a": [1.0, 2.0], "price": [3.0, 4.0]})
    frame.attrs["target"] = "price"
    _, targets = as_dataset(frame).train.fetch(np.array([1]))
    assert torch.equal(targets, torch.tensor([4.0]))
    frame.attrs["target"] = "prize"
    with pytest.raises(DataError, match="is `prize`, and it has no such column"):
        as_dataset(frame)

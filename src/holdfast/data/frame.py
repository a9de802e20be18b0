"""A pandas data frame as tensors; pandas itself is never imported here."""

from typing import Any

import numpy as np

from holdfast.data.items import TARGET_NAMES
from holdfast.data.source import TensorSource
from holdfast.data.tensors import as_tensor
from holdfast.errors import DataError


def is_frame(thing: Any) -> bool:
    return type(thing).__module__.partition(".")[0] == "pandas" and hasattr(thing, "columns")


def from_frame(frame: Any) -> TensorSource:
    """All columns but the target as one matrix [samples, features], in their order.

    The target is the column named by `frame.attrs["target"]`, or the only one with a name of TARGET_NAMES.
    """
    target = _target_name(frame)
    features = [name for name in frame.columns if name != target]
    if not features:
        raise DataError(f"the data frame has no column but its target `{target}`: add the features")
    columns = [_numbers(frame, name).astype(np.float32) for name in features]
    return TensorSource(as_tensor(np.stack(columns, axis=1)), as_tensor(_numbers(frame, target), target=True))


def _target_name(frame: Any) -> Any:
    columns = list(frame.columns)
    named = frame.attrs.get("target")
    if named is not None:
        if named not in columns:
            raise DataError(f'attrs["target"] of the data frame is `{named}`, and it has no such column')
        return named
    found = [name for name in columns if name in TARGET_NAMES]
    if len(found) != 1:
        raise DataError(
            f"the data frame's target is unclear among the columns {', '.join(map(str, columns))}: "
            'name one of them "label", or set frame.attrs["target"]'
        )
    return found[0]


def _numbers(frame: Any, name: Any) -> Any:
    values = frame[name].to_numpy()
    if values.dtype.kind not in "fiub":
        raise DataError(f"column `{name}` of the data frame holds {frame[name].dtype}, not numbers: encode or drop it")
    return values

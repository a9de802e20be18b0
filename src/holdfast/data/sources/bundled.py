"""The small data sets inside scikit-learn's installation, read without importing it: that takes a second."""

from importlib.util import find_spec
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from holdfast.errors import DataError


def read_table(name: str, delimiter: str | None = ",", header_lines: int = 0) -> NDArray[np.float64]:
    """The numbers in scikit-learn's data file `name`, which may be gzipped."""
    spec = find_spec("sklearn")
    if spec is None or spec.origin is None:
        raise DataError("scikit-learn is not installed, and its data set was asked for: pip install scikit-learn")
    path = Path(spec.origin).parent / "datasets" / "data" / name
    if not path.is_file():
        raise DataError(f"this scikit-learn has no {path}: install scikit-learn 1.5 or a later 1.x")
    return np.loadtxt(path, delimiter=delimiter, skiprows=header_lines)

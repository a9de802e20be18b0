"""A table of numbers in a text file with a header."""

import csv
from pathlib import Path

import numpy as np

from holdfast.data.hashing import hash_ints
from holdfast.data.source import Dataset
from holdfast.data.sources.rows import Matrix, Task, split_rows
from holdfast.data.split import uids
from holdfast.errors import DataError, JobError
from holdfast.job.near import hint

_MAX_CLASSES = 20  # whole-number targets with more values are taken for a quantity


def load(
    path: str,
    target: str,
    task: Task | None = None,
    uid: tuple[str, ...] = (),
    delimiter: str = ",",
    test: float = 0.2,
) -> Dataset:
    """All columns but the target are features, standardised.

    Rows are split by a hash of the columns `uid`, which then are no features, or else of the row's number. If
    no task is given, a target of 0 and 1 is binary, one of 0, 1, … up to 19 classes, any other a quantity.
    """
    header, table = read(Path(path), delimiter)
    answer = _place(target, header, path)
    identity = [_place(name, header, path) for name in uid]
    features = [place for place in range(len(header)) if place not in (answer, *identity)]
    if not features:
        raise DataError(f"{path} has no column besides {', '.join(header)} to learn from: add features")
    columns = [np.ascontiguousarray(table[:, place]).view(np.int64) for place in identity]
    hashes = uids(*columns) if columns else hash_ints(np.arange(len(table)))
    answers = table[:, answer]
    dataset = split_rows(table[:, features], answers, task or _guess_task(answers), hashes, test)
    dataset.info["columns"] = [header[place] for place in features]
    return dataset


def read(path: Path, delimiter: str = ",") -> tuple[list[str], Matrix]:
    """The header and the rows of a file of numbers; DataError naming the line that is not as it should be."""
    try:
        with path.open(newline="", encoding="utf-8") as file:
            lines = csv.reader(file, delimiter=delimiter)
            rows = [(lines.line_num, row) for row in lines if row]
    except OSError as error:
        raise DataError(f"the data file {path} cannot be read: {error.strerror}") from error
    except (UnicodeDecodeError, csv.Error) as error:
        raise DataError(f"the data file {path} is no {delimiter!r}-separated UTF-8 text: {error}") from error
    if len(rows) < 2:
        raise DataError(f"the data file {path} has no rows: it needs a header line and rows of numbers below it")
    header = [name.strip() for name in rows[0][1]]
    cells = [_numbers(row, header, f"{path}:{line}") for line, row in rows[1:]]
    return header, np.array(cells)


def _numbers(row: list[str], header: list[str], place: str) -> list[float]:
    if len(row) != len(header):
        raise DataError(f"{place}: {len(row)} cells, where the header has {len(header)}")
    try:
        numbers = [float(cell) for cell in row]
    except ValueError:
        name, cell = next((name, cell) for name, cell in zip(header, row, strict=True) if not _is_number(cell))
        raise DataError(f"{place}: column `{name}` holds {cell!r}, not a number: encode or fill it") from None
    if not np.isfinite(numbers).all():
        raise DataError(f"{place}: a cell is not finite: fill it or drop the row")
    return numbers


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _place(name: str, header: list[str], path: str) -> int:
    if name not in header:
        raise JobError(f"{path} has no column `{name}`{hint(name, header)}")
    return header.index(name)


def _guess_task(target: Matrix) -> Task:
    classes = np.unique(target)
    if np.array_equal(classes, [0, 1]):
        return "binary"
    is_class = len(classes) <= _MAX_CLASSES and np.array_equal(classes, np.arange(len(classes)))
    return "classification" if is_class else "regression"

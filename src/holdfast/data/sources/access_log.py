"""Will this page, shown to this user after this query, be clicked? From an access log, or a synthetic one."""

import os
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from holdfast.data import access_log
from holdfast.data.order import Indices
from holdfast.data.source import Dataset
from holdfast.data.sources.parts import cut
from holdfast.data.split import by_hash, uids
from holdfast.data.vocabulary import Vocabulary, pad
from holdfast.errors import DataError
from holdfast.ledger.place import home, prepare

HOURS = 24
_ANSWERS = ("\t0", "\t1")

Columns = dict[str, list[str]]
Ids = NDArray[np.int64]


def load(
    path: str | None = None,
    rows: int = 200_000,
    seed: int = 0,
    words: int = 2_000,
    min_count: int = 2,
    test: float = 0.2,
) -> Dataset:
    """Inputs [n, k]: a bag of ids of the hour, the page and the words of the query, filled up with 0.

    A user is wholly in the training or in the test part. The vocabularies, of up to `words` words seen at
    least `min_count` times, are those of the training part. Without a `path`, a log of `rows` rows is made
    from `seed` and kept in $HOLDFAST_HOME/data.
    """
    columns = _read(Path(path) if path else _generated(rows, seed))
    sides = by_hash(uids(columns["user"]), test)
    ids, vocabulary_size = _encode(columns, sides[0], words, min_count)
    targets = torch.from_numpy(np.array(columns["clicked"]) == "1").float()
    info = {"task": "binary", "vocabulary_size": vocabulary_size}
    return cut(torch.from_numpy(ids), targets, sides, info)


def _generated(rows: int, seed: int) -> Path:
    path = prepare(home()) / "data" / f"access_log-{rows}-{seed}.tsv"
    if path.exists():
        return path
    unfinished = path.with_suffix(f".{os.getpid()}")
    try:
        path.parent.mkdir(exist_ok=True)
        access_log.write(unfinished, rows, seed)
        unfinished.replace(path)  # at once, because other workers may be looking for it
    except OSError as error:
        raise DataError(f"{path} cannot be written: {error.strerror}; set HOLDFAST_HOME elsewhere") from error
    return path


def _read(path: Path) -> Columns:
    try:
        header, *lines = path.read_text(encoding="utf-8").rstrip("\n").split("\n")
    except OSError as error:
        raise DataError(f"the access log {path} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise DataError(f"the access log {path} is no UTF-8 text: {error}") from error
    names = access_log.COLUMNS
    if tuple(header.split("\t")) != names or not lines:
        raise DataError(f"{path}: an access log is a header of {', '.join(names)} with tabs, and rows below it")
    for number, line in enumerate(lines, start=2):
        if line.count("\t") != len(names) - 1 or not line.endswith(_ANSWERS):
            raise DataError(f"{path}:{number}: not {len(names)} cells of which the last is 0 or 1: {line!r}")
    cells = "\t".join(lines).split("\t")
    return {name: cells[place :: len(names)] for place, name in enumerate(names)}


def _encode(columns: Columns, train: Indices, words: int, min_count: int) -> tuple[Ids, int]:
    """Rows of ids, in ranges one after another (0, hours, pages, words), and how many ids there are."""
    known_pages = _vocabulary(columns["page"], train, len(columns["page"]), 1)
    known_words = _vocabulary(columns["query"], train, words, min_count)
    first_page = 1 + HOURS
    first_word = first_page + len(known_pages)
    pages = pad(*known_pages.encode(columns["page"]), shift=first_page, width=1)
    queries = pad(*known_words.encode(columns["query"]), shift=first_word)
    return np.hstack([1 + _hours(columns["time"]), pages, queries]), first_word + len(known_words)


def _vocabulary(texts: list[str], train: Indices, size: int, min_count: int) -> Vocabulary:
    return Vocabulary.build((texts[row] for row in train.tolist()), size, min_count)


def _hours(times: list[str]) -> Ids:
    try:
        hours = np.array(times, "datetime64[h]").astype(np.int64)
    except ValueError as error:
        raise DataError(f"the access log has a time that is not as 2026-03-02T13:59:59: {error}") from error
    return hours[:, None] % HOURS

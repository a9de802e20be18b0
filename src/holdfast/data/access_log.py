"""A synthetic access log that is realistic (Zipf, a daily rhythm, regular users) and whose truth is known.

Whether a shown page is clicked is drawn from a logistic model with an effect of the user, the page, the hour
and each word of the query. All randomness is hash_ints of row numbers: a seed gives one log on any NumPy.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from holdfast.data.hashing import derive, hash_ints
from holdfast.data.order import Indices
from holdfast.errors import DataError

COLUMNS = ("user", "page", "time", "query", "clicked")
DAYS = 28
FIRST_DAY = np.datetime64("2026-03-02", "s")
ROWS_PER_USER = 12
TOPICS = 8

Floats = NDArray[np.float64]

_STEMS = (
    "shoe ring lamp desk bike tent book coat boot card disk door drum fish game gift glove hair hand harp "
    "home ice key kite knife light milk moon oven paint paper phone piano pipe rain road rope sail salt "
    "sand seed shirt skate ski snow soap sock sofa song stone sun table tea tool toy train tree wall watch "
    "water wine wood"
)
_ENDINGS = (
    " s box bag case shop set kit stand cover holder rack maker cleaner stick pack oil tray club guide "
    "repair rental brush mat"
)
_SECTIONS = "shop blog help reviews offers guides brands new"
_WORDS = np.array([stem + ending for ending in _ENDINGS.split(" ") for stem in _STEMS.split()])
_PAGES = np.array([f"/{section}/{stem}" for stem in _STEMS.split() for section in _SECTIONS.split()])

# Visits by the hour of the day: a quiet night, a lunch peak and a higher one in the evening.
_HOURS = [5, 3, 2, 1, 1, 2, 4, 8, 12, 14, 15, 17, 20, 18, 16, 15, 16, 18, 21, 25, 27, 24, 17, 10]
_LENGTHS = [30, 35, 20, 10, 5]  # queries of 1, 2, … words


@dataclass(frozen=True)
class AccessLog:
    """Columns in the order of time, and the log-odds from which `clicked` was drawn.

    `log_odds_of_new_user` leaves out the user's own part, which nobody can know of a user not seen before.
    """

    user: NDArray[np.str_]
    page: NDArray[np.str_]
    time: NDArray[np.datetime64]
    query: list[str]
    clicked: NDArray[np.int64]
    log_odds: Floats
    log_odds_of_new_user: Floats

    def best_auc(self, rows: Indices, new_users: bool = True) -> float:
        """The AUC on these rows of one who knows the truth, but of new users not their personal effect."""
        return _auc((self.log_odds_of_new_user if new_users else self.log_odds)[rows], self.clicked[rows])


def write(path: Path, rows: int, seed: int) -> AccessLog:
    """Writes it as tab-separated text with a header, and returns it."""
    log = generate(rows, seed)
    times = np.datetime_as_string(log.time, unit="s").tolist()
    clicked = map(str, log.clicked.tolist())
    lines = map("\t".join, zip(log.user.tolist(), log.page.tolist(), times, log.query, clicked, strict=True))
    try:
        path.write_text("\n".join(("\t".join(COLUMNS), *lines, "")), encoding="utf-8")
    except OSError as error:
        raise DataError(f"the access log cannot be written to {path}: {error.strerror}") from error
    return log


def generate(rows: int, seed: int) -> AccessLog:
    if rows < 1:
        raise DataError(f"an access log needs at least one row, not {rows}")
    draw = _Draw(rows, seed)
    num_users = -(-rows // ROWS_PER_USER)
    time, hour = _times(draw)
    user = draw.zipf("user", num_users, 0.7)
    page = draw.zipf("page", len(_PAGES), 0.9)
    words, used = _words(draw, page)
    word_effects = np.where(used, draw.effects("word effect", len(_WORDS), 0.8)[words], 0.0).sum(axis=1)
    shared = (
        -1.2
        + 0.35 * np.sin((hour - 14) * (2 * np.pi / 24))
        + draw.effects("page effect", len(_PAGES), 0.8)[page]
        + word_effects
    )
    log_odds = shared + draw.effects("user effect", num_users, 0.6)[user]
    clicked = draw.uniform("click") < 1 / (1 + np.exp(-log_odds))
    names = np.array([f"u{derive(seed, number) >> 24:010x}" for number in range(num_users)])
    queries = [" ".join(row[:length]) for row, length in zip(_WORDS[words].tolist(), used.sum(axis=1), strict=True)]
    return AccessLog(names[user], _PAGES[page], time, queries, clicked.astype(np.int64), log_odds, shared)


class _Draw:
    """Independent random numbers, a column of them for each name."""

    def __init__(self, rows: int, seed: int) -> None:
        self.rows = rows
        self.seed = seed

    def uniform(self, name: str, count: int | None = None) -> Floats:
        """In [0, 1); one for each row, or `count` of them."""
        numbers = np.arange(self.rows if count is None else count)
        hashes = hash_ints(numbers, derive(self.seed, *name.encode()))
        return (hashes >> np.uint64(11)).astype(np.float64) * 2.0**-53

    def weighted(self, name: str, weights: Sequence[float] | Floats) -> Indices:
        steps = np.cumsum(weights)
        return np.asarray(np.searchsorted(steps[:-1], self.uniform(name) * steps[-1], side="right"))

    def zipf(self, name: str, size: int, exponent: float) -> Indices:
        return self.weighted(name, np.arange(1.0, size + 1) ** -exponent)

    def effects(self, name: str, size: int, scale: float) -> Floats:
        """Normal numbers, by Box and Muller."""
        radius = np.sqrt(-2 * np.log(1 - self.uniform(name + " radius", size)))
        angle = 2 * np.pi * self.uniform(name + " angle", size)
        return np.asarray(scale * radius * np.cos(angle))


def _times(draw: _Draw) -> tuple[NDArray[np.datetime64], NDArray[np.int64]]:
    day = (draw.uniform("day") * DAYS).astype(np.int64)
    second = (draw.uniform("second") * 3600).astype(np.int64)
    seconds = np.sort((day * 24 + draw.weighted("hour", _HOURS)) * 3600 + second)
    return FIRST_DAY + seconds, seconds // 3600 % 24


def _words(draw: _Draw, page: Indices) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Words [rows, places] and which of them are used; every other word is about the topic of the page."""
    places = np.arange(len(_LENGTHS))
    used = places <= draw.weighted("length", _LENGTHS)[:, None]
    words = np.stack([draw.zipf(f"word {place}", len(_WORDS), 1.0) for place in places], axis=1)
    topic = (page % TOPICS)[:, None]
    topical = words // TOPICS * TOPICS + topic
    return np.where(places % 2 == 1, topical % len(_WORDS), words), used


def _auc(scores: Floats, clicked: NDArray[np.int64]) -> float:
    """The share of (clicked, not clicked) pairs in the right order, ties being half right."""
    _, place, counts = np.unique(scores, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2)[place]
    positives = int(clicked.sum())
    negatives = len(clicked) - positives
    if not positives or not negatives:
        raise DataError(f"an AUC needs clicked and unclicked rows, and {positives} of {len(clicked)} are clicked")
    return float((ranks[clicked == 1].sum() - positives * (positives + 1) / 2) / (positives * negatives))

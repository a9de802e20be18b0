"""The synthetic log looks like a log, and its truth is the truth."""

from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from holdfast.data import access_log
from holdfast.data.access_log import AccessLog, generate, write
from holdfast.errors import DataError

ROWS = 40_000


@pytest.fixture(scope="module")
def log() -> AccessLog:
    return generate(ROWS, 1)


def test_a_seed_is_a_log_and_another_seed_another() -> None:
    first, again, other = generate(300, 1), generate(300, 1), generate(300, 2)
    for column in access_log.COLUMNS:
        assert list(getattr(first, column)) == list(getattr(again, column))
        assert list(getattr(first, column)) != list(getattr(other, column))


def test_clicks_follow_the_truth(log: AccessLog) -> None:
    probability = 1 / (1 + np.exp(-log.log_odds))
    for band in np.array_split(np.argsort(probability), 10):
        deviation = np.sqrt((probability[band] * (1 - probability[band])).sum()) / len(band)
        assert abs(log.clicked[band].mean() - probability[band].mean()) < 4 * deviation


def test_the_best_auc_is_that_of_the_truth(log: AccessLog) -> None:
    rows = np.arange(0, ROWS, 3)
    for scores, new_users in ((log.log_odds, False), (log.log_odds_of_new_user, True)):
        expected = roc_auc_score(log.clicked[rows], scores[rows])
        assert log.best_auc(rows, new_users) == pytest.approx(expected, abs=1e-12)
    assert 0.7 < log.best_auc(rows) < log.best_auc(rows, new_users=False) < 0.9


def test_tied_scores_are_half_right() -> None:
    scores = np.array([0.0, 1.0, 1.0, 1.0, 2.0])
    clicked = np.array([0, 0, 1, 1, 1])
    assert access_log._auc(scores, clicked) == pytest.approx(5 / 6)


def test_an_auc_needs_both_kinds(log: AccessLog) -> None:
    with pytest.raises(DataError, match="needs clicked and"):
        log.best_auc(np.flatnonzero(log.clicked)[:5])


def test_it_looks_like_a_log(log: AccessLog) -> None:
    assert (np.diff(log.time) >= np.timedelta64(0, "s")).all()
    hours = np.bincount(log.time.astype("datetime64[h]").astype(int) % 24, minlength=24)
    assert hours[20] > 10 * hours[3]
    _, visits = np.unique(log.user, return_counts=True)
    assert visits.max() > 20 * np.median(visits)
    _, words = np.unique(" ".join(log.query).split(), return_counts=True)
    assert np.sort(words)[-10:].sum() > 0.25 * words.sum()
    assert 0.1 < log.clicked.mean() < 0.4


def test_the_file_holds_the_log(tmp_path: Path) -> None:
    log = write(tmp_path / "log.tsv", 500, 3)
    header, *lines = (tmp_path / "log.tsv").read_text().splitlines()
    assert tuple(header.split("\t")) == access_log.COLUMNS
    cells = [line.split("\t") for line in lines]
    assert [row[0] for row in cells] == log.user.tolist()
    assert [row[3] for row in cells] == log.query
    assert np.array_equal(np.array([row[2] for row in cells], "datetime64[s]"), log.time)
    assert [int(row[4]) for row in cells] == log.clicked.tolist()


def test_a_log_that_cannot_be_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="at least one row, not 0"):
        generate(0, 1)
    with pytest.raises(DataError, match=r"cannot be written to .*: No such file or directory"):
        write(tmp_path / "nowhere" / "log.tsv", 5, 1)

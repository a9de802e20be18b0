"""The demo says `the same` only if it is, and leaves with an error otherwise."""

from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from scenes import Clock, killed_and_replaced

from holdfast.cli.demo.experiment import Comparison, Facts, Trial, summary
from holdfast.cli.demo.fancy import Fancy
from holdfast.cli.demo.plain import Plain
from holdfast.errors import RunError

FACTS = Facts(Path("/x/access_log.tsv"), 100, 10, 0.3, 80, 20, 50, 0.78)


def trial(workers: int, losses: tuple[float, ...] = (0.7, 0.6), **changed: Any) -> Trial:
    result = {
        "run": f"demo-{workers}",
        "model_sha256": "a" * 64,
        "state_sha256": "b" * 64,
        "fingerprint": "f" * 16,
        "metrics": {"auc": 0.77, "accuracy": 0.75, "log_loss": 0.5},
        "samples_per_s": 1000.0,
        "seconds": 2.0,
        "first_step_s": 1.0,
    }
    return Trial(workers, result | changed, list(losses), killed_and_replaced(Clock()))


def test_equal_trials_pass() -> None:
    comparison = Comparison(trial(1), trial(4))
    comparison.require_equal()
    assert summary(FACTS, comparison, 1.0)["same"] is True


@pytest.mark.parametrize(
    ("other", "what"),
    [
        (trial(4, model_sha256="c" * 64), "model"),
        (trial(4, state_sha256="c" * 64), "state"),
        (trial(4, metrics={"auc": 0.7700001, "accuracy": 0.75, "log_loss": 0.5}), "metrics"),
        (trial(4, losses=(0.7, 0.6000001)), "losses"),
    ],
)
def test_any_difference_is_an_error(other: Trial, what: str, capsys: pytest.CaptureFixture[str]) -> None:
    comparison = Comparison(trial(1), other)
    with pytest.raises(RunError, match=f"differ in {what}"):
        comparison.require_equal()
    assert summary(FACTS, comparison, 1.0)["same"] is False
    Plain().ending(FACTS, comparison, 1.0)
    shown = capsys.readouterr().out
    assert "DIFFERENT" in shown
    assert "the promise is broken" in shown


def test_nothing_is_not_the_same_as_nothing() -> None:
    empty = {"model_sha256": None, "state_sha256": None, "metrics": {}}
    assert not any(Comparison(trial(1, (), **empty), trial(4, (), **empty)).equal.values())


def test_plain_text_is_ascii_and_says_it_all(capsys: pytest.CaptureFixture[str]) -> None:
    Plain().ending(FACTS, Comparison(trial(1), trial(4)), 1.0)
    shown = capsys.readouterr().out
    assert shown.isascii()
    assert f"SHA-256 {'a' * 64}" in shown
    assert "best possible: 0.7800" in shown
    assert "show last" in shown


def test_a_terminal_gets_the_same_words() -> None:
    console = Console(force_terminal=True, width=100, record=True, quiet=False, file=open("/dev/null", "w"))  # noqa: SIM115
    with console.file:
        Fancy(console).ending(FACTS, Comparison(trial(1), trial(4)), 1.0)
    shown = console.export_text()
    assert "✓ the same" in shown
    assert "a" * 64 in shown

"""What is said and shown, without a process."""

import io
import math
import subprocess
import sys
import time
from pathlib import Path

import pytest
from rich.console import Console

from holdfast.cli.failures import guarded
from holdfast.cli.printed import print_json, size
from holdfast.cli.show import sparkline
from holdfast.errors import DataError
from holdfast.run.live import picture
from holdfast.run.progress import Snapshot
from holdfast.run.show import clock, own_lines, sentence

_TICK_S = 0.02
SNAPSHOT = Snapshot(250, 1000, 4.2, 0.5, 1234.5, 75.0, {0: 40.0, 3: 20.0})


def test_an_unexpected_error_is_kept_for_a_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HOLDFAST_HOME", str(tmp_path))
    assert guarded(lambda: 1 / 0) == 1
    (kept,) = (tmp_path / "crashes").iterdir()
    assert "ZeroDivisionError: division by zero" in kept.read_text()
    err = capsys.readouterr().err
    assert err.startswith("holdfast: this should not have happened (ZeroDivisionError: division by zero)")
    assert str(kept) in err
    assert "Traceback" not in err


def test_an_error_of_ours_is_a_sentence_and_a_code(capsys: pytest.CaptureFixture[str]) -> None:
    def fail() -> None:
        raise DataError("the data are empty")

    assert guarded(fail) == 3
    assert capsys.readouterr().err == "holdfast: the data are empty\n"


def test_json_has_no_nan(capsys: pytest.CaptureFixture[str]) -> None:
    print_json({"auc": math.nan, "all": [1.5, math.inf]}, indent=None)
    assert capsys.readouterr().out == '{"auc": null, "all": [1.5, null]}\n'


def test_sparkline() -> None:
    assert sparkline([3.0, 2.0, 1.0]) == "█▅▁"
    assert sparkline([1.0] * 3) == "▁▁▁"
    assert len(sparkline([float(value) for value in range(1000)])) == 60


def test_a_moment_on_one_line() -> None:
    assert sentence(SNAPSHOT) == (
        "step 250 of 1,000, loss 0.5000, 1,234 samples/s, 1:15 left, replicas/s of worker 0: 40, 3: 20"
    )
    assert sentence(Snapshot(0, 9, 0.0, None, None, None, {})) == "step 0 of 9"


def test_a_moment_as_a_picture() -> None:
    console = Console(file=io.StringIO(), width=100)
    console.print(picture(SNAPSHOT, "digits-0zc449", "view 2: workers 0, 3"))
    text = console.file.getvalue()
    for part in ("digits-0zc449", "250 / 1,000", "25 %", "loss 0.5000", "1:15 left", "view 2: workers 0, 3"):
        assert part in text
    bars = [line.count("▪") for line in text.splitlines() if "replicas/s" in line]
    assert bars == [20, 10]


def test_of_a_traceback_only_the_users_lines_are_shown() -> None:
    trace = (
        "Traceback (most recent call last):\n"
        '  File "/venv/lib/python3.11/site-packages/torch/nn/module.py", line 1, in call\n    forward()\n'
        '  File "/home/me/net.py", line 7, in forward\n    return self.layer(x)\n           ^^^\n'
        "OSError: no\n\nThe above exception was the direct cause\n\n"
        f'  File "{Path(sentence.__code__.co_filename).parent}/worker.py", line 3, in main\n    live()\n'
    )
    assert own_lines(trace) == '  File "/home/me/net.py", line 7, in forward\n    return self.layer(x)\n           ^^^'
    assert own_lines("") == ""


def test_numbers_for_people() -> None:
    assert [clock(5), clock(75), clock(3725)] == ["0:05", "1:15", "1:02:05"]
    assert [size(9), size(2048), size(3 * 2**20), size(5 * 2**30)] == ["9 B", "2.0 KiB", "3.0 MiB", "5.00 GiB"]


def test_the_user_asked_when_the_process_began() -> None:
    code = "import time; time.sleep(0.1); from holdfast.cli.asked import asked_at; print(asked_at())"
    before = time.monotonic()
    asked = float(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout)
    after = time.monotonic()
    assert before - _TICK_S <= asked <= after - 0.1

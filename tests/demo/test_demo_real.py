"""The demo for real, only smaller: real workers, a real SIGKILL, a real Ctrl-C."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from holdfast.cli.demo.experiment import Size
from holdfast.cli.demo.play import Program, play
from holdfast.ledger import Ledger

_INTERRUPTED = """
import sys
from holdfast.cli.demo.experiment import Size
from holdfast.cli.demo.plain import Plain
from holdfast.cli.demo.play import play
from holdfast.cli.failures import guarded
sys.exit(guarded(lambda: play(Plain(), Size(rows=4_000, epochs=100_000)).require_equal()))
"""


def test_a_killed_worker_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HOLDFAST_HOME", str(tmp_path))
    play(Program(), Size(rows=6_000, epochs=80)).require_equal()
    told = json.loads(capsys.readouterr().out)
    assert told["same"] is True
    alone, struck = told["runs"]
    assert alone["model_sha256"] == struck["model_sha256"] == told["model_sha256"]
    assert {moment["kind"] for moment in struck["timeline"]} >= {"kill", "died", "view", "measured"}
    assert "kill" not in {moment["kind"] for moment in alone["timeline"]}
    assert struck["metrics"]["auc"] <= told["best_auc"] + 0.05
    with Ledger.open(tmp_path) as ledger:
        assert ledger.run("last").id == struck["run"]


def test_ctrl_c_ends_it_cleanly(tmp_path: Path) -> None:
    environment = {**os.environ, "HOLDFAST_HOME": str(tmp_path)}
    demo = subprocess.Popen(
        [sys.executable, "-c", _INTERRUPTED],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
    )
    with demo:
        assert demo.stdout is not None
        lines = iter(demo.stdout.readline, "")
        worker = next(int(line.split("pid ")[1].rstrip(")\n")) for line in lines if "started (pid" in line)
        assert any("view 1" in line for line in lines)
        demo.send_signal(signal.SIGINT)
        _, complaint = demo.communicate(timeout=60)
    assert demo.returncode == 130
    assert complaint.startswith("holdfast: the demo was stopped; `holdfast resume demo-")
    assert not Path(f"/proc/{worker}").exists()

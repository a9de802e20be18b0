"""What can change a bit besides the job, and how a difference is told."""

import subprocess
import sys

from holdfast.run.environment import differences, environment


def test_the_same_environment_has_no_differences() -> None:
    assert environment() == environment()
    assert differences(environment(), environment()) == []


def test_what_computes_is_named() -> None:
    found = environment()
    assert found.keys() == {"python", "torch", "numpy", "numba", "holdfast", "machine", "cpu"}
    assert all(found.values())
    assert found["torch"] != "unknown"


def test_differences_name_both_sides() -> None:
    before = {"torch": "2.12.0", "numpy": "2.0", "old": "1"}
    now = {"torch": "2.13.0", "numpy": "2.0", "new": "3"}
    assert differences(before, now) == ["torch 2.12.0 → 2.13.0", "old 1 → unknown", "new unknown → 3"]


def test_torch_is_not_imported_to_know_its_version() -> None:
    code = "import sys; from holdfast.run.environment import environment; environment(); print('torch' in sys.modules)"
    assert subprocess.check_output([sys.executable, "-c", code], text=True) == "False\n"

"""What it costs that data are given as Python objects: time to the first step, beside the same data imported by name.

`python bench/live.py` prints a table; the data are 20,000 images, 63 MB, and both kinds take turns.
"""

import os
import tempfile
from pathlib import Path
from statistics import median

import data

import holdfast as hf
from holdfast.run.detached import Silent

HERE, TURNS = Path(__file__).parent, 5


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="holdfast-bench-") as home:
        os.environ["HOLDFAST_HOME"] = home
        kinds = {"imported by name": f"{HERE / 'data.py'}:images", "Python objects": data.images()}
        found: dict[str, list[float]] = {kind: [] for kind in kinds}
        for _ in range(TURNS):
            for kind, given in kinds.items():
                found[kind].append(first_step_s(given))
    print("| data | s to the first step | spread |\n|---|---|---|")
    for kind, seconds in found.items():
        print(f"| {kind} | {median(seconds):.2f} | {min(seconds):.2f} – {max(seconds):.2f} |")


def first_step_s(given: object) -> float:
    job = hf.Job(model=f"{HERE / 'models.py'}:mlp", data=given, loss="cross_entropy", replicas=2, batch=64, steps=5)
    return float(hf.train(job, workers=2, show=Silent()).result["first_step_s"])


if __name__ == "__main__":
    main()

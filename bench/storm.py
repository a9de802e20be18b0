"""A storm over a Holdfast crew of six: the same model as the calm run, and how much slower it was trained."""

import sys
import time
from dataclasses import dataclass
from math import ceil

from struck_holdfast import HoldfastRun, train

from holdfast.ledger import Ledger
from holdfast.run.chaos import Storm

WORKERS = 6
EVERY_S = 2.0


@dataclass(frozen=True)
class Weathered:
    """`calm_workers` is the mean size of the crew in the storm, rounded up: that is how many the calm crew had."""

    blows: int
    minutes: float
    same: bool
    steps: int
    mean_workers: float
    calm_workers: int
    steps_per_s: float
    calm_steps_per_s: float


def weather(ledger: Ledger, seed: int, minutes: float) -> Weathered:
    replicas = (f"train.replicas={WORKERS}", f"train.batch={WORKERS * 32}")
    run = HoldfastRun(ledger, WORKERS, replicas)
    storm = Storm(ledger, run.run, seed, EVERY_S, WORKERS)
    began, first = time.monotonic(), run.gauges.committed
    blows = 0
    for blow in storm.blows(60.0 * minutes):
        print(f"[{blow.after_s:6.1f} s] {blow.kind}: {blow.whom}", file=sys.stderr, flush=True)
        blows += 1
    rate = (run.gauges.committed - first) / (time.monotonic() - began)
    stormy = run.stop()
    calm_workers = max(1, ceil(storm.mean_workers))
    calm = train(calm_workers, (f"train.steps={stormy['steps']}", "checkpoint.every_minutes=none", *replicas))
    same = stormy["state_sha256"] == calm["state_sha256"]
    calm_rate = calm["steps"] / calm["seconds"]
    return Weathered(blows, minutes, same, calm["steps"], storm.mean_workers, calm_workers, rate, calm_rate)

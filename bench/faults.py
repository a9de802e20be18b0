"""`make bench-faults`: what deaths cost Holdfast, torchft and torchrun; writes docs/benchmarks-faults.md.

Real processes are killed and stopped at seeded random moments, one side after another. `make bench-storm` is the storm
alone, and longer.
"""

import argparse
import os
import random
import shlex
import signal
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from faults_report import Measured, Seen, render
from machine import machine_lines
from packs import PATIENCE_S, kill_all
from sides import Asked, holdfast, storm, torchft_by_hand, torchft_wrapped, torchrun

SIDES: dict[str, Callable[[Asked], list[Measured | Seen]]] = {
    "holdfast": holdfast,
    "torchft": torchft_by_hand,
    "torchft-ddp": torchft_wrapped,
    "torchrun": torchrun,
    "storm": storm,
}


def main() -> None:
    asked = _parser().parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # whoever is struck here must not outlive us
    circumstances = [*machine_lines(), f"- to reproduce: `python {shlex.join(sys.argv)}`"]
    with tempfile.TemporaryDirectory(prefix="holdfast-faults-") as folder:
        home = os.environ["HOLDFAST_HOME"] = str(Path(folder) / "home")
        try:
            _strike_all(asked, Path(folder), circumstances)
        finally:
            kill_all(f"HOLDFAST_HOME={home}")
    print(asked.out.read_text())


def _strike_all(asked: argparse.Namespace, folder: Path, circumstances: list[str]) -> None:
    lines: list[Measured | Seen] = []
    for name in asked.only:
        lines += SIDES[name](_asked(asked, folder, random.Random(f"{asked.seed} {name}")))
        measured = [line for line in lines if isinstance(line, Measured)]
        seen = [line for line in lines if isinstance(line, Seen)]
        text = render(measured, seen, circumstances, PATIENCE_S)
        asked.out.write_text(text)  # now, so that an interrupted bench is not lost


def _asked(asked: argparse.Namespace, folder: Path, chance: random.Random) -> Asked:
    most = asked.rounds or max(asked.kills, asked.others, asked.peer_kills, asked.peer_others)
    counts = (asked.kills, asked.others, asked.peer_kills, asked.peer_others)
    return Asked(folder, chance, asked.seed, asked.storm_minutes, *(min(most, count) for count in counts))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="+", choices=SIDES, default=list(SIDES), metavar="SIDE", help=", ".join(SIDES))
    parser.add_argument("--kills", type=int, default=50, help="of workers of Holdfast")
    parser.add_argument("--others", type=int, default=10, help="stops of its workers, and deaths of its captains")
    parser.add_argument("--peer-kills", type=int, default=10, help="of workers of each peer")
    parser.add_argument("--peer-others", type=int, default=3, help="each other blow at each peer")
    parser.add_argument("--rounds", type=int, help="no more than so many of any blow, for trying")
    parser.add_argument("--storm-minutes", type=float, default=1.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=Path("docs/benchmarks-faults.md"))
    return parser


if __name__ == "__main__":
    main()

"""`make bench`: holds the contests and writes docs/benchmarks.md."""

import argparse
import shlex
import sys
from pathlib import Path

from contests import CONTESTS
from machine import machine_lines
from measure import hold
from report import render


def main() -> None:
    asked = _parser().parse_args()
    circumstances = [
        *machine_lines(),
        f"- repeats: {asked.repeats}, of at least {asked.seconds:g} s of work each",
        f"- to reproduce: `python {shlex.join(sys.argv)}`",
    ]
    names = asked.only or list(CONTESTS)
    outcomes = []
    for name in names:
        outcomes.append(hold(name, CONTESTS[name], asked.repeats, asked.seconds))
        asked.out.write_text(render(outcomes, circumstances))  # now, so that an interrupted bench is not lost
    print(f"written: {asked.out}")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="+", choices=CONTESTS, metavar="NAME", help=", ".join(CONTESTS))
    parser.add_argument("--repeats", type=int, default=5, help="rounds in which every side runs once")
    parser.add_argument("--seconds", type=float, default=3.0, help="work per repeat; 20 times that around a checkpoint")
    parser.add_argument("--out", type=Path, default=Path("docs/benchmarks.md"))
    return parser


if __name__ == "__main__":
    main()

"""The course of the demo, whoever shows it."""

import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Protocol

from holdfast.cli.demo import experiment
from holdfast.cli.demo.experiment import CREW, VICTIM, Comparison, Facts, Size
from holdfast.cli.demo.witness import Witness
from holdfast.cli.printed import print_json
from holdfast.job import Job
from holdfast.ledger import Ledger


class Stage(Protocol):
    """Who shows it: each method is called once and in this order, `trial` twice."""

    def opening(self, rows: int) -> None: ...

    def prepared(self, facts: Facts, job: Job) -> None: ...

    def trial(self, crew: str, victim: int | None) -> AbstractContextManager[Witness]: ...

    def ending(self, facts: Facts, comparison: Comparison, seconds: float) -> None: ...


class Program:
    """For programs: silence, then one JSON object."""

    def opening(self, rows: int) -> None: ...

    def prepared(self, facts: Facts, job: Job) -> None: ...

    @contextmanager
    def trial(self, crew: str, victim: int | None) -> Iterator[Witness]:
        yield Witness(victim)

    def ending(self, facts: Facts, comparison: Comparison, seconds: float) -> None:
        print_json(experiment.summary(facts, comparison, seconds))


def stage_for(as_json: bool) -> Stage:
    """What suits the place where this process writes to."""
    if as_json:
        return Program()
    from rich.console import Console

    from holdfast.cli.demo.fancy import NARROWEST, Fancy
    from holdfast.cli.demo.plain import Plain

    console = Console()
    can_draw = console.is_terminal and not console.is_dumb_terminal and console.encoding.startswith("utf")
    return Fancy(console) if can_draw and console.width >= NARROWEST else Plain()


def play(stage: Stage, size: Size) -> Comparison:
    """All of it; the runs are in the user's own ledger, the data and the job beside it."""
    began = time.monotonic()
    stage.opening(size.rows)
    with Ledger.open() as ledger:
        folder = ledger.home / "demo"
        facts = experiment.write_data(folder, size)
        job = experiment.write_job(folder, size)
        stage.prepared(facts, job)
        with stage.trial("1 worker", None) as witness:
            alone = experiment.conduct(ledger, job, 1, witness)
        with stage.trial(f"{CREW} workers, one killed half-way", VICTIM) as witness:
            struck = experiment.conduct(ledger, job, CREW, witness)
    comparison = Comparison(alone, struck)
    stage.ending(facts, comparison, time.monotonic() - began)
    return comparison

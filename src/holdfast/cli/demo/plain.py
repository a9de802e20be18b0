"""The demo as plain lines of ASCII: for a pipe, a log, a narrow terminal."""

from collections.abc import Iterator
from contextlib import contextmanager

from holdfast.cli.demo import report
from holdfast.cli.demo.chart import ASCII, chart
from holdfast.cli.demo.experiment import Comparison, Facts
from holdfast.cli.demo.witness import Moment, Witness
from holdfast.job import Job

_COLUMNS = 60


class Plain:
    def opening(self, rows: int) -> None:
        _say(f"HOLDFAST. {report.TITLE}")
        _say(f"writing {rows:,} lines of an access log ...")

    def prepared(self, facts: Facts, job: Job) -> None:
        for label, text in [*report.of_data(facts), *report.of_job(job)]:
            _say(f"{label + ':':<10}{text}")

    @contextmanager
    def trial(self, crew: str, victim: int | None) -> Iterator[Witness]:
        _say(f"\n== {crew} ==")
        witness = Witness(victim, _tell)
        yield witness
        _say("")
        for bar in chart(witness, _COLUMNS, ASCII):
            _say(f"{bar.label:<10}{bar.text}".rstrip())

    def ending(self, facts: Facts, comparison: Comparison, seconds: float) -> None:
        _say(f"\n{'':<30}{'1 worker':<22}{'4 workers, 1 killed'}")
        for row in report.comparison_rows(facts, comparison):
            mark = {None: "", True: "same", False: "DIFFERENT"}[row.equal]
            _say(f"{row.label:<30}{row.first:<22}{row.second:<22}{mark}".rstrip())
        _say(f"\n{report.verdict(comparison)}\n")
        for remark in report.remarks(comparison):
            _say(remark)
        _say(f"It took {seconds:.0f} s. Next:")
        for command, purpose in report.next_steps(facts):
            _say(f"  {command}\n      {purpose}")


def _tell(moment: Moment) -> None:
    _say(f"{moment.seconds:6.2f} s  step {moment.step:>6,}  {moment.text}")


def _say(text: str) -> None:
    print(text.replace("…", "..."), flush=True)

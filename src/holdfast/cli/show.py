"""`holdfast show`: everything about one run, on one page."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from holdfast.cli.arguments import Json, RunRef

if TYPE_CHECKING:
    from holdfast.ledger import Event, Ledger, Run

_LAST = 10
_BARS = "▁▂▃▄▅▆▇█"
_WIDTH = 60
_ALWAYS = ("samples", "seconds", "samples_per_s", "model_sha256", "views")


def show(run: RunRef, as_json: Json = False) -> None:
    """Show a run: its job, how it went, its metrics and curve, its checkpoints and last events."""
    from holdfast.cli.printed import print_json
    from holdfast.ledger import Ledger

    with Ledger.open() as ledger:
        found = ledger.run(run)
        if as_json:
            print_json(_object(ledger, found))
        else:
            _print_page(ledger, found)


def _object(ledger: "Ledger", run: "Run") -> dict[str, Any]:
    """The result as `run --json` gave it, and what the ledger knows besides; the same keys at any time."""
    from holdfast.run.launch import status_of

    known = asdict(run)
    known["run"] = known.pop("id")
    known["steps"] = known.pop("steps_done")
    result = known.pop("result") or {}
    return {
        **dict.fromkeys(_ALWAYS),
        "metrics": {},
        **known,
        **result,
        "status": status_of(ledger, run.id),
        "checkpoints": [asdict(row) for row in ledger.checkpoints(run.id)],
        "events": [asdict(event) for event in ledger.events(run.id)[-_LAST:]],
    }


def _print_page(ledger: "Ledger", run: "Run") -> None:
    from holdfast.cli.printed import moment, print_columns, print_facts, size

    print_facts(_facts(ledger, run))
    for saved in ledger.checkpoints(run.id)[:3]:
        print_facts({"checkpoint": f"step {saved.step}, {size(saved.bytes)}, {moment(saved.time)}, {saved.path}"})
    events = ledger.events(run.id)
    print()
    print_columns(line_of(event) for event in events[-_LAST:])
    if trace := _trace(events):
        print(f"\nwhere it failed in your code (`holdfast logs {run.id}` has all of it):\n{trace}")


def _facts(ledger: "Ledger", run: "Run") -> dict[str, str]:
    from holdfast.cli.execution import facts_of
    from holdfast.cli.printed import moment
    from holdfast.run.launch import status_of

    job = run.job
    losses = [point.value for point in ledger.metrics(run.id, "train.loss")]
    result = facts_of(run.result) if run.result else {}
    return {
        "run": run.id,
        **result,
        "job": f"{job['model']['use']} on {job['data']['use']}, {job['train']['replicas']} replicas, "
        f"batch {job['train']['batch']}, fingerprint {run.fingerprint}",
        "status": f"{status_of(ledger, run.id)} at step {run.steps_done:,} of {run.steps_total or '?'}",
        "error": run.error or "",
        "changed": "; ".join(event.text for event in ledger.events(run.id) if event.kind == "changed"),
        "created": moment(run.created),
        "ended": moment(run.ended) if run.ended else "",
        "loss": f"{losses[0]:.4f} {sparkline(losses)} {losses[-1]:.4f}" if losses else "",
    }


def line_of(event: "Event") -> tuple[str, str, str]:
    """An event for people: when, at which step, what."""
    from holdfast.cli.printed import moment

    return moment(event.time), "" if event.step is None else f"step {event.step}", event.text


def sparkline(values: Sequence[float]) -> str:
    """The curve in one line of text; each character is the mean of a stretch of it."""
    width = min(_WIDTH, len(values))
    stretches = [values[place * len(values) // width : (place + 1) * len(values) // width] for place in range(width)]
    means = [sum(stretch) / len(stretch) for stretch in stretches]
    low, high = min(means), max(means)
    scale = (len(_BARS) - 1) / (high - low) if high > low else 0.0
    return "".join(_BARS[round((mean - low) * scale)] for mean in means)


def _trace(events: "Sequence[Event]") -> str:
    from holdfast.run.show import own_lines

    traces = [event.detail["trace"] for event in events if event.kind == "trace" and event.detail]
    return own_lines(traces[-1]) if traces else ""

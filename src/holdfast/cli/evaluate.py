"""`holdfast evaluate`: measure a trained model."""

from typing import Any

from holdfast.cli.arguments import Json, RunRef


def evaluate(run: RunRef, as_json: Json = False) -> None:
    """Measure the model of a run's newest checkpoint on the whole test set, in this process."""
    from holdfast.cli.printed import print_facts, print_json
    from holdfast.ledger import Ledger
    from holdfast.run.show import numbers

    with Ledger.open() as ledger:
        found = ledger.run(run).id
        step, metrics = _measured(ledger, found)
    if as_json:
        print_json({"run": found, "step": step, "metrics": metrics})
    else:
        print_facts({"run": found, "step": str(step), "metrics": numbers(metrics)})


def _measured(ledger: Any, run: str) -> tuple[int, dict[str, Any]]:
    from holdfast.cli.trained import trained
    from holdfast.errors import DataError

    model = trained(ledger, run)
    if not model.work.evaluation.rows:
        raise DataError(
            f"the data of run {run} have no test part, or do not say their task, so nothing can be measured"
        )
    return model.step, model.work.evaluation.alone()

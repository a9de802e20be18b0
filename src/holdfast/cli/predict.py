"""`holdfast predict`: from rows of inputs to predictions."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from holdfast.cli.arguments import InputFile, Json, RunRef

if TYPE_CHECKING:
    from holdfast.cli.predictions import Predictions


def predict(
    run: RunRef,
    file: InputFile,
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="Write there: .csv, .npz or .json.")] = None,
    as_json: Json = False,
) -> None:
    """Predict with the model of a run's newest checkpoint, one prediction for each row of the file.

    Features are given in their own units: the job's data know how they were put on one scale.
    """
    from holdfast.cli.inputs import read_inputs
    from holdfast.cli.predictions import predictions
    from holdfast.cli.trained import trained
    from holdfast.ledger import Ledger

    with Ledger.open() as ledger:
        found = ledger.run(run).id
        model = trained(ledger, found)
    made = predictions(model, read_inputs(file, model.work.dataset))
    if out is not None:
        _write(made, out)
    _print(made, {"run": found, "step": model.step, "rows": len(made.prediction)}, out, as_json)


def _print(made: "Predictions", head: dict[str, Any], out: Path | None, as_json: bool) -> None:
    from holdfast.cli.printed import print_json

    if as_json:
        print_json({**head, "out": str(out)} if out else {**head, **made.plain()})
    elif out:
        print(f"{out}: {head['rows']} predictions of {head['run']} at step {head['step']}")
    else:
        print(made.csv(), end="")


def _write(made: "Predictions", out: Path) -> None:
    import json

    import numpy as np

    from holdfast.errors import JobError, ResourceError

    try:
        match out.suffix:
            case ".csv":
                out.write_text(made.csv())
            case ".json":
                out.write_text(json.dumps(made.plain()))
            case ".npz":
                np.savez(out, allow_pickle=False, **made.arrays())
            case _:
                raise JobError(f"`{out}` does not say a format: give a path that ends in .csv, .npz or .json")
    except OSError as error:
        raise ResourceError(f"{out} cannot be written: {error.strerror or error}") from error

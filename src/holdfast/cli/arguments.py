"""What several commands take, said once."""

from pathlib import Path
from typing import Annotated

import typer

RunRef = Annotated[str, typer.Argument(metavar="RUN", help="A run's id, the beginning of one, or `last`.")]
JobRef = Annotated[str, typer.Argument(metavar="JOB", help="job.toml, file.py[:attr] or package.module:attr.")]
Workers = Annotated[
    str | None, typer.Option(metavar="N|MIN:MAX", help="Processes; in place of crew.workers. Cannot change the model.")
]
Sets = Annotated[
    list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Change a field, as in train.steps=500.")
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object on stdout, at the end.")]
Detach = Annotated[bool, typer.Option("--detach", help="Train in a process of its own, and return at once.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress.")]
Follow = Annotated[bool, typer.Option("--follow", "-f", help="Go on until the run is over.")]
InputFile = Annotated[Path, typer.Argument(metavar="FILE", help="Inputs: .csv, .npy or .npz.")]


def changes(sets: list[str] | None, workers: str | None) -> list[str]:
    """What the options change of a job, as assignments."""
    return [*(sets or []), *([] if workers is None else [f'crew.workers="{workers}"'])]

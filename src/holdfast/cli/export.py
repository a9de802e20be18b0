"""`holdfast export`: the model as a file that other software reads."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from holdfast.cli.arguments import Json, RunRef

if TYPE_CHECKING:
    from holdfast.run.trained import Trained


def export(
    run: RunRef,
    path: Annotated[Path, typer.Argument(help="model.safetensors (weights) or model.pt2 (torch.export program).")],
    as_json: Json = False,
) -> None:
    """Write the trained model to a file: its weights, or a program that runs without its Python code."""
    from holdfast.cli.printed import print_json, size
    from holdfast.cli.trained import trained
    from holdfast.errors import JobError
    from holdfast.ledger import Ledger

    writer = {".safetensors": _write_weights, ".pt2": _write_program}.get(path.suffix)
    if writer is None:
        raise JobError(f"`{path}` does not say a format: give a path that ends in .safetensors or .pt2")
    with Ledger.open() as ledger:
        found = ledger.run(run).id
        model = trained(ledger, found)
    _write(writer, model, path)
    if as_json:
        print_json({"run": found, "step": model.step, "path": str(path), "bytes": path.stat().st_size})
    else:
        print(f"{path}: the model of {found} at step {model.step}, {size(path.stat().st_size)}")


def _write(writer: Any, model: "Trained", path: Path) -> None:
    from holdfast.errors import ResourceError

    try:
        writer(model, path)
    except OSError as error:
        raise ResourceError(f"{path} cannot be written: {error.strerror or error}") from error


def _write_weights(model: "Trained", path: Path) -> None:
    from safetensors.torch import save

    # Tensors that share memory, as a tied head does, are written twice: the file must load without the model's code.
    tensors = {name: tensor.detach().clone().contiguous() for name, tensor in model.model.state_dict().items()}
    path.write_bytes(save(tensors, metadata={"step": str(model.step), "fingerprint": model.work.job.fingerprint}))


def _write_program(model: "Trained", path: Path) -> None:
    import torch

    from holdfast.errors import ModelError

    args, named = _example(model)
    # Sizes of which the model turns out to be independent stay free; torch takes a size of 1 for a constant.
    free = [
        {place: torch.export.Dim.AUTO for place, length in enumerate(tensor.shape) if length > 1}
        for tensor in (*args, *named.values())
    ]
    shapes = tuple(free) if args else dict(zip(named, free, strict=True))
    try:
        program = torch.export.export(model.model, args, named, dynamic_shapes=shapes)
    except Exception as error:
        raise ModelError(
            f"torch.export cannot follow this model ({str(error).partition(chr(10))[0]}); export .safetensors instead"
        ) from error
    torch.export.save(program, path)


def _example(model: "Trained") -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Two samples, as positional and as named arguments of the model: one would be taken for a constant."""
    import numpy as np

    source = model.work.dataset.train
    inputs, _ = source.fetch(np.arange(2) % len(source))
    if isinstance(inputs, dict):
        return (), inputs
    return (tuple(inputs) if isinstance(inputs, tuple | list) else (inputs,)), {}

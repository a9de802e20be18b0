"""From a trained model's outputs to what they mean in the task."""

import csv
import io
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from holdfast.data.source import leaves, map_leaves
from holdfast.errors import ModelError
from holdfast.run.trained import Trained
from holdfast.step.replica import call

Array = NDArray[Any]


@dataclass(frozen=True)
class Predictions:
    """One for each row of inputs; `probability` is that of each class, or that of a yes."""

    prediction: Array
    probability: Array | None = None

    def arrays(self) -> dict[str, Array]:
        found = {"prediction": self.prediction, "probability": self.probability}
        return {name: array for name, array in found.items() if array is not None}

    def plain(self) -> dict[str, Any]:
        return {name: array.tolist() for name, array in self.arrays().items()}

    def csv(self) -> str:
        """A header and a line for each row."""
        columns: dict[str, list[Any]] = {}
        for name, array in self.arrays().items():
            wide = array.reshape(len(array), -1)
            names = [name] if wide.shape[1] == 1 else [f"{name}_{place}" for place in range(wide.shape[1])]
            columns |= dict(zip(names, wide.T.tolist(), strict=True))
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))
        return text.getvalue()


def predictions(trained: Trained, inputs: Any) -> Predictions:
    """Of the model in evaluation mode, in portions as large as the job's evaluation takes."""
    portion, count = trained.work.job.evaluate.batch, len(next(leaves(inputs)))
    parts = [_outputs(trained, inputs, at, at + portion) for at in range(0, count, portion)]
    return meaning(torch.cat(parts), trained.work.dataset.info)


def meaning(outputs: Tensor, info: dict[str, Any]) -> Predictions:
    """What the outputs say in the task; without a task, themselves."""
    match info.get("task"):
        case "classification":
            shares = outputs.softmax(1)
            return Predictions(shares.argmax(1).numpy(), shares.numpy())
        case "binary":
            yes = outputs.softmax(1)[:, 1] if outputs.shape[1:] == (2,) else outputs.reshape(len(outputs)).sigmoid()
            return Predictions((yes > 0.5).long().numpy(), yes.numpy())
        case "regression":
            scale, shift = info.get("target_deviation", 1.0), info.get("target_mean", 0.0)
            return Predictions(outputs.numpy().astype(np.float64) * scale + shift)
    return Predictions(outputs.numpy())


def _outputs(trained: Trained, inputs: Any, start: int, stop: int) -> Tensor:
    is_bf16 = trained.work.job.train.precision == "bf16"
    with torch.no_grad(), torch.autocast("cpu", torch.bfloat16, enabled=is_bf16):
        outputs = call(trained.model, map_leaves(lambda tensor: tensor[start:stop], inputs))
    if not isinstance(outputs, Tensor):
        raise ModelError(
            f"the model gives a {type(outputs).__name__}, and only a tensor can be printed as predictions; "
            "use holdfast.Run(...).model() in Python"
        )
    return outputs.float()

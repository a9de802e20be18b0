"""What is trained: each case names a model of models.py and data of data.py, the same for every side."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Case:
    """`batch` is samples per worker and step."""

    model: str
    data: str
    batch: int
    model_args: Mapping[str, Any] = field(default_factory=dict)
    data_args: Mapping[str, Any] = field(default_factory=dict)


CASES = {
    "mlp_32": Case("mlp", "images", 32),
    "mlp_128": Case("mlp", "images", 128),
    "bag_256": Case("bag", "bags", 256),
    "gpt_12": Case("gpt", "tokens", 12),
    # Little data, because loading it is not what a start is measured for.
    "first_step": Case("mlp", "images", 32, data_args={"n": 2_000}),
    # 100 million parameters.
    "mlp_100m": Case("mlp", "images", 32, {"hidden": [6880, 6880, 6880]}, {"n": 2_000}),
    # 83.6 million parameters: with the two moments of AdamW, 1.0 GB of state.
    "mlp_1gb": Case("mlp", "images", 32, {"hidden": [6270, 6270, 6270]}, {"n": 2_000}),
}

"""The multi-layer perceptron."""

from collections.abc import Sequence

from torch import Tensor, nn

from holdfast.models.shapes import drop_single


class MLP(nn.Module):
    """Inputs of any shape are flattened per sample."""

    def __init__(
        self, n_features: int, n_outputs: int, hidden: Sequence[int] = (128, 128), dropout: float = 0.0
    ) -> None:
        super().__init__()
        widths = [n_features, *hidden]
        blocks = [_block(fan_in, fan_out, dropout) for fan_in, fan_out in zip(widths, hidden, strict=False)]
        self.layers = nn.Sequential(*blocks, nn.Linear(widths[-1], n_outputs))

    def forward(self, inputs: Tensor) -> Tensor:
        return drop_single(self.layers(inputs.flatten(1)))


def _block(fan_in: int, fan_out: int, dropout: float) -> nn.Sequential:
    return nn.Sequential(nn.Linear(fan_in, fan_out), nn.ReLU(), nn.Dropout(dropout))

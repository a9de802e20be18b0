"""Models without a hidden layer. Their loss is convex, so they start at zero and owe nothing to a seed."""

import torch
from torch import Tensor, nn

from holdfast.models.shapes import drop_single


class Linear(nn.Module):
    """Linear regression under a squared loss, logistic regression under a cross-entropy."""

    def __init__(self, n_features: int, n_outputs: int) -> None:
        super().__init__()
        self.layer = nn.Linear(n_features, n_outputs)
        nn.init.zeros_(self.layer.weight)
        nn.init.zeros_(self.layer.bias)

    def forward(self, inputs: Tensor) -> Tensor:
        return drop_single(self.layer(inputs.flatten(1)))


class LogisticBag(nn.Module):
    """Logistic regression where a sample is a bag of ids, `[n, k]`; id 0 is padding and weighs nothing."""

    def __init__(self, vocabulary_size: int, n_outputs: int) -> None:
        super().__init__()
        self.weights = nn.EmbeddingBag(vocabulary_size, n_outputs, mode="sum", padding_idx=0)
        self.bias = nn.Parameter(torch.zeros(n_outputs))
        nn.init.zeros_(self.weights.weight)

    def forward(self, ids: Tensor) -> Tensor:
        return drop_single(self.weights(ids) + self.bias)

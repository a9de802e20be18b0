"""The models that all sides train. Plain modules: no side gets a version of its own."""

from collections.abc import Sequence
from itertools import pairwise

from torch import Tensor, nn

PIXELS, CLASSES = 784, 10
VOCABULARY, WORDS_PER_BAG = 200_000, 20
CHARACTERS, CONTEXT = 128, 64


def mlp(hidden: Sequence[int] = (2048, 2048)) -> nn.Module:
    widths = [PIXELS, *hidden]
    layers = [layer for fan_in, fan_out in pairwise(widths) for layer in (nn.Linear(fan_in, fan_out), nn.ReLU())]
    return nn.Sequential(*layers, nn.Linear(widths[-1], CLASSES))


def bag() -> nn.Module:
    return Bag()


class Bag(nn.Module):
    """Almost all parameters are in the embedding, of which a step touches a few rows."""

    def __init__(self) -> None:
        super().__init__()
        self.words = nn.EmbeddingBag(VOCABULARY, 64)
        self.head = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 2))

    def forward(self, ids: Tensor) -> Tensor:
        scores: Tensor = self.head(self.words(ids))
        return scores


def gpt() -> nn.Module:
    from holdfast.models.gpt import GPT  # here, so that scripts of other models start without holdfast

    return GPT(vocabulary_size=CHARACTERS, context=CONTEXT, layers=4, heads=4, width=128)

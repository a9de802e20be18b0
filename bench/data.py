"""Data in memory, made up from a seed: what is measured is training, not reading."""

import torch
from models import CHARACTERS, CLASSES, CONTEXT, PIXELS, VOCABULARY, WORDS_PER_BAG
from torch import Tensor


def images(n: int = 20_000) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(1)
    return torch.randn(n, PIXELS, generator=generator), torch.randint(CLASSES, (n,), generator=generator)


def bags(n: int = 100_000) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(2)
    ids = torch.randint(VOCABULARY, (n, WORDS_PER_BAG), generator=generator)
    return ids, torch.randint(2, (n,), generator=generator)


def tokens(n: int = 20_000) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(3)
    text = torch.randint(CHARACTERS, (n, CONTEXT + 1), generator=generator)
    return text[:, :-1].contiguous(), text[:, 1:].contiguous()

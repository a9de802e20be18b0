"""A decoder-only transformer."""

from torch import Tensor, nn
from torch.nn import functional

from holdfast.errors import ModelError


class GPT(nn.Module):
    """Token ids `[n, t]`, t up to `context`, to scores of the next token, `[n, t, vocabulary_size]`."""

    def __init__(
        self,
        vocabulary_size: int,
        context: int,
        layers: int = 4,
        heads: int = 4,
        width: int = 128,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        if width % heads:
            raise ModelError(f"gpt: width {width} is not a multiple of heads {heads}; choose width {heads} × n")
        self.context = context
        self.tokens = nn.Embedding(vocabulary_size, width)
        self.positions = nn.Embedding(context, width)
        self.drop = nn.Dropout(dropout)
        self.blocks = nn.Sequential(*(_Block(width, heads, dropout) for _ in range(layers)))
        self.norm = nn.LayerNorm(width)
        self.apply(_initialise)
        self._calm_residuals(layers)

    def forward(self, ids: Tensor) -> Tensor:
        length = ids.shape[1]
        if length > self.context:
            raise ModelError(f"gpt: {length} tokens at once, but context is {self.context}; raise model.args.context")
        hidden = self.drop(self.tokens(ids) + self.positions.weight[:length])
        # The head is the embedding itself, not a second module sharing its parameter: one name, one gradient.
        scores: Tensor = functional.linear(self.norm(self.blocks(hidden)), self.tokens.weight)
        return scores

    def _calm_residuals(self, layers: int) -> None:
        """What each block adds starts small, so that the sum over the blocks keeps its scale with depth."""
        for name, weight in self.blocks.named_parameters():
            if name.endswith("project.weight"):
                nn.init.normal_(weight, std=_INITIAL_STD / (2 * layers) ** 0.5)


_INITIAL_STD = 0.02


class _Block(nn.Module):
    def __init__(self, width: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.attention_norm = nn.LayerNorm(width)
        self.attention = _Attention(width, heads, dropout)
        self.feed_forward_norm = nn.LayerNorm(width)
        self.feed_forward = _FeedForward(width, dropout)

    def forward(self, hidden: Tensor) -> Tensor:
        attended: Tensor = hidden + self.attention(self.attention_norm(hidden))
        thought: Tensor = attended + self.feed_forward(self.feed_forward_norm(attended))
        return thought


class _Attention(nn.Module):
    def __init__(self, width: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.heads = heads
        self.drop = nn.Dropout(dropout)
        self.query_key_value = nn.Linear(width, 3 * width)
        self.project = nn.Linear(width, width)

    def forward(self, hidden: Tensor) -> Tensor:
        split = self.query_key_value(hidden).unflatten(-1, (3, self.heads, -1))
        query, key, value = (part.transpose(1, 2) for part in split.unbind(2))
        dropout = self.drop.p if self.training else 0.0
        mixed = functional.scaled_dot_product_attention(query, key, value, dropout_p=dropout, is_causal=True)
        projected: Tensor = self.drop(self.project(mixed.transpose(1, 2).flatten(2)))
        return projected


class _FeedForward(nn.Module):
    def __init__(self, width: int, dropout: float) -> None:
        super().__init__()
        self.expand = nn.Linear(width, 4 * width)
        self.project = nn.Linear(4 * width, width)
        self.drop = nn.Dropout(dropout)

    def forward(self, hidden: Tensor) -> Tensor:
        projected: Tensor = self.drop(self.project(functional.gelu(self.expand(hidden))))
        return projected


def _initialise(module: nn.Module) -> None:
    if isinstance(module, nn.Linear | nn.Embedding):
        nn.init.normal_(module.weight, std=_INITIAL_STD)
    if isinstance(module, nn.Linear):
        nn.init.zeros_(module.bias)

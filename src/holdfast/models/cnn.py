"""A small convolutional network."""

from torch import Tensor, nn

from holdfast.models.shapes import drop_single


class CNN(nn.Module):
    """Images `[n, n_channels, height, width]` of any size: the last stage is averaged over its positions."""

    def __init__(
        self, n_outputs: int, n_channels: int = 1, width: int = 32, stages: int = 2, dropout: float = 0.0
    ) -> None:
        super().__init__()
        widths = [width << stage for stage in range(stages)]
        blocks = [_stage(c_in, c_out) for c_in, c_out in zip([n_channels, *widths], widths, strict=False)]
        self.stages = nn.Sequential(*blocks)
        self.head = nn.Sequential(nn.Dropout(dropout), nn.Linear(widths[-1], n_outputs))

    def forward(self, images: Tensor) -> Tensor:
        return drop_single(self.head(self.stages(images).mean(dim=(2, 3))))


def _stage(c_in: int, c_out: int) -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(c_in, c_out, kernel_size=3, padding=1, bias=False),
        nn.BatchNorm2d(c_out),
        nn.ReLU(),
        nn.MaxPool2d(2, ceil_mode=True),
    )

"""Well-known networks in plain Torch, without a line about ensembles: things to convert."""

from collections import OrderedDict

from jaxtyping import Float
from torch import Tensor, nn

from ensedu.common import checks


def lenet5(classes: int = 10, filters: tuple[int, int] = (6, 16)) -> nn.Sequential:
    """LeNet-5 for images (B, 1, 28, 28), with ReLU and max pooling: 61,706 numbers.

    LeCun et al. 1998, in the form that most libraries train today. `filters` are the channels of
    its two convolutions.
    """
    first, second = checks.layer_sizes("filters", filters)
    return nn.Sequential(
        nn.Conv2d(1, first, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(first, second, 5), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
        nn.Linear(25 * second, 120), nn.ReLU(), nn.Linear(120, 84), nn.ReLU(),
        nn.Linear(84, classes),
    )  # fmt: skip


def resnet50(classes: int = 1000) -> nn.Sequential:
    """ResNet-50 for images (B, 3, 224, 224): 25,557,032 numbers for 1,000 classes.

    He et al. 2016, table 1, with the stride in the 3×3 convolution of a block, as in torchvision.
    """
    blocks: OrderedDict[str, nn.Module] = OrderedDict()
    channels = 64
    for stage, (width, depth) in enumerate([(64, 3), (128, 4), (256, 6), (512, 3)], start=1):
        for i in range(depth):
            stride = 2 if stage > 1 and i == 0 else 1
            blocks[f"block{stage}_{i + 1}"] = Bottleneck(channels, width, stride)
            channels = 4 * width
    stem = nn.Sequential(*_conv(3, 64, 7, 2), nn.ReLU(), nn.MaxPool2d(3, 2, padding=1))
    return nn.Sequential(OrderedDict(stem=stem, **blocks, head=_head(channels, classes)))


def wide_resnet(depth: int = 28, widen: int = 10, classes: int = 10) -> nn.Sequential:
    """WRN-28-10 for images (B, 3, 32, 32): 36,479,194 numbers for 10 classes.

    Zagoruyko and Komodakis 2016, table 1; `depth` is 6 N + 4, with N blocks in each of 3 stages.
    """
    blocks: OrderedDict[str, nn.Module] = OrderedDict()
    channels = 16
    for stage, width in enumerate([16 * widen, 32 * widen, 64 * widen], start=1):
        for i in range((depth - 4) // 6):
            stride = 2 if stage > 1 and i == 0 else 1
            blocks[f"block{stage}_{i + 1}"] = WideBlock(channels, width, stride)
            channels = width
    stem = nn.Conv2d(3, 16, 3, padding=1, bias=False)
    norm = nn.Sequential(nn.BatchNorm2d(channels), nn.ReLU())
    return nn.Sequential(OrderedDict(stem=stem, **blocks, norm=norm, head=_head(channels, classes)))


class Bottleneck(nn.Module):
    """1×1, 3×3 and 1×1 convolutions, and a path around them: C -> 4 width channels."""

    def __init__(self, channels: int, width: int, stride: int) -> None:
        super().__init__()
        self.body = nn.Sequential(
            *_conv(channels, width, 1), nn.ReLU(),
            *_conv(width, width, 3, stride), nn.ReLU(),
            *_conv(width, 4 * width, 1),
        )  # fmt: skip
        same = channels == 4 * width and stride == 1
        self.around = (
            nn.Identity() if same else nn.Sequential(*_conv(channels, 4 * width, 1, stride))
        )

    def forward(self, x: Float[Tensor, "B C H W"]) -> Float[Tensor, "B C_out H_out W_out"]:
        return nn.functional.relu(self.body(x) + self.around(x))


class WideBlock(nn.Module):
    """Two 3×3 convolutions, each after its normalization and ReLU, and a path around them."""

    def __init__(self, channels: int, width: int, stride: int) -> None:
        super().__init__()
        self.start = nn.Sequential(nn.BatchNorm2d(channels), nn.ReLU())
        self.body = nn.Sequential(
            nn.Conv2d(channels, width, 3, stride, padding=1, bias=False),
            nn.BatchNorm2d(width), nn.ReLU(),
            nn.Conv2d(width, width, 3, padding=1, bias=False),
        )  # fmt: skip
        same = channels == width and stride == 1
        self.around = nn.Identity() if same else nn.Conv2d(channels, width, 1, stride, bias=False)

    def forward(self, x: Float[Tensor, "B C H W"]) -> Float[Tensor, "B C_out H_out W_out"]:
        start = self.start(x)
        # A path that changes the shape starts behind the normalization, as in the paper.
        return self.body(start) + self.around(x if isinstance(self.around, nn.Identity) else start)


def _conv(channels: int, width: int, kernel: int, stride: int = 1) -> tuple[nn.Module, nn.Module]:
    conv = nn.Conv2d(channels, width, kernel, stride, padding=kernel // 2, bias=False)
    return conv, nn.BatchNorm2d(width)


def _head(channels: int, classes: int) -> nn.Sequential:
    return nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, classes))

"""What *Images out* draws and says: a doubled photograph, and where its networks doubt it."""

from collections.abc import Mapping
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.colors import Colormap
from numpy import ndarray as Array

from workshop import plot
from workshop.experiments.images_out import METHODS, TEST, Crop
from workshop.plot.colored_cells import scale_below
from workshop.plot.panels import widths
from workshop.plot.style import Figure, color, tint

# Captions.
CROPS = (
    "Doubt lies on edges, and so do the errors, but in grass it lies everywhere. The "
    "panels: what a network was given, what it made of that, its σ for each pixel, and how far off "
    "it was, in gray levels of 255."
)
BY_PHOTOGRAPH = (
    "One network by photograph: how much of its squared error lies in the tenth of the pixels with "
    "the largest σ, and how many nats a pixel it gains on bicubic interpolation."
)
MOST = 30  # gray levels that have the full color
COLUMNS = (4, 2)
SPACE = 0.06  # inches at either side of a panel
SCALE = 0.3  # inches below a panel, for the scale of its colors


@dataclass(eq=False)
class Crops:
    """A part of a photograph, as it was given, made, doubted and wrong."""

    #: By photograph and method.
    crops: Mapping[tuple[str, str], Crop]

    def __post_init__(self) -> None:
        self.keys = {name: key for key, name in METHODS.items()}
        self.choices = {"photograph": list(TEST), "method": list(self.keys)}

    def draw(self, photograph: str, method: str) -> Figure:
        """Draw four panels."""
        key = self.keys[method]
        crop = self.crops[photograph, key]
        with plot.house_style():
            _, side, _ = widths(4, COLUMNS, SPACE, SPACE, False)
            figure, found = plot.panels(
                4, height=side, columns=COLUMNS, left=SPACE, right=SPACE, below=SCALE
            )
            given, made, doubt, wrong = found
            show(given, crop.small, "given", "gray", 255)
            show(made, crop.mean, "made", "gray", 255)
            show(doubt, crop.std, "σ", tint(color(key)), MOST)
            show(wrong, crop.error, "error", tint(color(key)), MOST)
            for axes in (doubt, wrong):
                scale_below(axes, tint(color(key)), ("0", f"≥ {MOST}"), SCALE)
        return figure

    def say(self, photograph: str, method: str) -> str:
        share = self.crops[photograph, self.keys[method]].found
        return (
            f"{photograph.capitalize()}, {method}: the tenth of these pixels with the largest σ "
            f"holds {share:.0%} of the squared error."
        )


def show(axes: Axes, pixels: Array, title: str, cmap: str | Colormap, most: float | int) -> None:
    """Draw an image into a panel."""
    axes.imshow(pixels, cmap=cmap, vmin=0, vmax=most, interpolation="none")
    axes.set_title(title)
    axes.set(xticks=[], yticks=[])
    for spine in axes.spines.values():
        spine.set_visible(True)

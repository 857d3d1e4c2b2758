"""An explorer as a widget of Jupyter: sliders, the frame in words, the frame, what is below."""

from collections.abc import Mapping
from html import escape
from typing import Any

import ipywidgets

from workshop.page import figure_menu
from workshop.page.controls import as_read, kind, words

SLIDERS = {
    "buttons": ipywidgets.ToggleButtons,
    "list": ipywidgets.Dropdown,
    "slider": ipywidgets.SelectionSlider,
}


class ExplorerWidget:
    """The sliders of an explorer, and in `box` all that is shown."""

    def __init__(self, explorer: Any) -> None:
        self._choices = explorer.choices
        self._sliders = {
            name: SLIDERS[kind(options)](
                options=[(as_read(option), option) for option in options],
                value=explorer.values[name],
                description=words(name),
                style={"description_width": "initial"},
            )
            for name, options in explorer.choices.items()
        }
        image = ipywidgets.Image(format="png", layout={"max_width": "100%", "width": "740px"})
        below = figure_menu.text(*explorer.sources)
        under = f"<br><small>{escape(below)}</small>" if below else ""
        said = ipywidgets.HTML()
        caption = ipywidgets.HTML(f"<em>{escape(explorer.caption)}</em>{under}")

        def update(change: Any = None) -> None:
            explorer.values = {name: slider.value for name, slider in self._sliders.items()}
            image.value = explorer.source.png(explorer.values)
            said.value = f"<p>{escape(explorer.alt())}</p>"
            explorer.lead()

        update()
        for slider in self._sliders.values():
            slider.observe(update, names="value")
        self.box = ipywidgets.VBox([*self._sliders.values(), said, image, caption])

    def follow(self, values: Mapping[str, Any]) -> None:
        """Move the sliders to these values, where they have them."""
        for name in values.keys() & self._sliders.keys():
            if values[name] in self._choices[name]:
                self._sliders[name].value = values[name]

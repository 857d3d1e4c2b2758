"""The trainer as a widget of Jupyter: what a page shows, in a cell."""

from pathlib import Path
from typing import Any

import anywidget
import traitlets

from workshop.page.live import trainer_scripts, trainer_state


class Live(anywidget.AnyWidget):
    """What `workshop.page.live.live` returns in Jupyter; it trains in the browser alone.

    Attributes
    ----------
    state
        Its settings at the start, by the names of the arguments of `live`, and ``points``.
    """

    _esm = trainer_scripts.BUNDLE.module()
    _css = (Path(__file__).parent / "live.css").read_text(encoding="utf-8")

    _options = traitlets.Dict().tag(sync=True)

    def __init__(self, state: dict[str, Any], options: dict[str, Any]) -> None:
        self.state = state
        super().__init__(_options={"state": state, **options})

    def __repr__(self) -> str:
        return trainer_state.as_text(self.state)

"""What *Is one run enough?* draws and says: checkpoints of one run beside five networks."""

from collections.abc import Mapping
from typing import Any

from ensedu import plot
from ensedu.plot.style import Figure

__all__ = ["RUN", "Differences"]

# The caption.
RUN = (
    "Left is lower, so better. All are compared with the network that a run at a constant rate "
    "ends with. Means over 20 splits, 3 seeds and 5 runs on each. A full mark is clear among 18 "
    "comparisons."
)

#: The row whose color is a deep ensemble's.
FIVE = "deep ensemble"


class Differences:
    """How far forecasts are from those of one network.

    Parameters
    ----------
    entries
        By the title of a score, and by name, an entry of the table's summary.
    """

    def __init__(self, entries: Mapping[str, Mapping[str, Mapping[str, Any]]]) -> None:
        self.entries = entries

    def draw(self) -> Figure:
        """Draw a panel a score, and a row a forecast."""
        ends = {
            title: {
                name: (own["low"], own["difference"], own["high"]) for name, own in rows.items()
            }
            for title, rows in self.entries.items()
        }
        sure = {
            title: [name for name, own in rows.items() if own["verdict"]]
            for title, rows in self.entries.items()
        }
        names = {name for rows in self.entries.values() for name in rows}
        colors = {name: "deep_ensemble" if name == FIVE else "single" for name in names}
        return plot.effects(ends, resolved=sure, colors=colors)

    def say(self) -> str:
        """Say how the first row and five networks come out, by the first score."""
        title, rows = next(iter(self.entries.items()))
        first = next(iter(rows))
        run, five = (_beside(rows[name]["difference"]) for name in (first, FIVE))
        return f"{title}: {first} come out {run} than one network, a deep ensemble {five}."


def _beside(difference: float) -> str:
    return f"{abs(difference):.2f} {'lower' if difference < 0 else 'higher'}"

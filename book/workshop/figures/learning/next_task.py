"""What *The next task* draws and says: what learning task after task gains, and what it forgets."""

from collections.abc import Collection, Mapping

from workshop import plot
from workshop.plot.style import Figure

# The caption.
LIFE = (
    "Fast weights may gain a little over heads alone; a network that is trained on forgets. Right "
    "is better: differences in accuracy after all five tasks, from heads alone on a random frozen "
    "network; the later tasks are the last four, the earlier ones the first four. In brackets: "
    "parameters that a task adds. Hollow: unclear (Holm)."
)

Intervals = Mapping[str, tuple[float, float, float]]


class Life:
    """Differences in accuracy from heads alone.

    Parameters
    ----------
    differences
        By tasks, and by what learns them, (low, mean, high).
    clear
        By tasks, whose difference has a word.
    heads
        By tasks, the accuracy of heads alone.
    methods
        By what learns them, the method whose color it has.
    """

    def __init__(
        self, differences: Mapping[str, Intervals], clear: Mapping[str, Collection[str]],
        heads: Mapping[str, float], methods: Mapping[str, str],
    ) -> None:  # fmt: skip
        self.differences, self.clear = differences, clear
        self.heads, self.methods = heads, methods

    def draw(self) -> Figure:
        """Draw a panel for some tasks."""
        levels = {title: f"heads alone: {value:.3f}" for title, value in self.heads.items()}
        return plot.effects(
            self.differences, resolved=self.clear, levels=levels, colors=self.methods
        )

    def say(self) -> str:
        """Say what the first one gains on the first tasks."""
        title, rows = next(iter(self.differences.items()))
        name, (_, mean, _) = next(iter(rows.items()))
        word = "clear" if name in self.clear[title] else "unclear"
        return f"On {title}, {name}: {mean:+.3f} in accuracy, {word}."

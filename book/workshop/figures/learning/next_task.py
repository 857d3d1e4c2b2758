"""What *The next task* draws and says: what learning task after task gains, and what it forgets."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from numpy import ndarray as Array

from workshop import plot
from workshop.plot.panels import beside, panels
from workshop.plot.style import LINES, MARKERS, Figure, color, house_style

# The captions.
MEMORY = (
    "A network that is trained on forgets its first task; a member for each task keeps it. How "
    "many images of 0 and 1 are still right after each of five tasks; means over 10 splits of the "
    "digits, 2 initializations on each."
)
LIFE = (
    "Fast weights may gain a little over heads alone; a network that is trained on forgets. Right "
    "is better: differences in accuracy after all five tasks, from heads alone on a random frozen "
    "network; the later tasks are the last four, the earlier ones the first four. In brackets: "
    "parameters that a task adds. Hollow: unclear (Holm)."
)

Intervals = Mapping[str, tuple[float, float, float]]


@dataclass(eq=False)
class Memory:
    """What is left of the first task after each of T tasks."""

    #: By method, the accuracy on the first task, (T,).
    kept: Mapping[str, Float[Array, " T"]]

    def __post_init__(self) -> None:
        tasks = max(map(len, self.kept.values()))
        self.choices = {"tasks_learned": [*range(1, tasks + 1)]}

    def draw(self, tasks_learned: int) -> Figure:
        """Draw one line a method, as far as its tasks are learned."""
        tasks = self.choices["tasks_learned"]
        names = {"batch_ensemble": "a member\nfor each task", "single": "one network,\ntrained on"}
        with house_style():
            figure, (axes,) = panels(1, height=2.3, right=1.25)
            for name, values in self.kept.items():
                own = np.array(values[:tasks_learned])
                axes.plot(
                    tasks[:tasks_learned], 100 * own, color=color(name), ls=LINES[name],
                    marker=MARKERS[name], ms=6, lw=2, clip_on=False,
                )  # fmt: skip
                low = 100 if name == "batch_ensemble" else 95.5  # clear of the other name
                end, free = (tasks_learned, min(low, 100 * own[-1])), {"annotation_clip": False}
                beside(axes, names[name], end, (10, 0), color(name), va="center", **free)
            axes.grid(axis="y")
            axes.set(xlim=(0.9, tasks[-1]), ylim=(80, 100), xticks=tasks, yticks=[80, 90, 100])
            axes.set_xlabel("tasks learned")
            axes.set_title("% of task 1 right")
        return figure

    def say(self, tasks_learned: int) -> str:
        member, one = (self.kept[name][tasks_learned - 1] for name in ("batch_ensemble", "single"))
        after = "After the first task" if tasks_learned == 1 else f"After {tasks_learned} tasks"
        return (
            f"{after}, a network that is trained on gets {one:.0%} of the first one right, "
            f"a BatchEnsemble {member:.0%}."
        )


@dataclass(eq=False)
class GainsOverHeads:
    """Differences in accuracy from heads alone."""

    #: By tasks, and by what learns them, (low, mean, high).
    differences: Mapping[str, Intervals]
    #: By tasks, whose difference has a word.
    clear: Mapping[str, Collection[str]]
    #: By tasks, the accuracy of heads alone.
    heads: Mapping[str, float]
    #: By what learns them, the method whose color it has.
    methods: Mapping[str, str]

    def draw(self) -> Figure:
        levels = {title: f"heads alone: {value:.3f}" for title, value in self.heads.items()}
        return plot.effect_intervals(
            self.differences, resolved=self.clear, levels=levels, colors=self.methods
        )

    def say(self) -> str:
        title, rows = next(iter(self.differences.items()))
        name, (_, mean, _) = next(iter(rows.items()))
        word = "clear" if name in self.clear[title] else "unclear"
        return f"On {title}, {name}: {mean:+.3f} in accuracy, {word}."

"""What *The next task* draws is what it is given, and its sentence says one thing."""

from ensedu.book.figures.next_task import Life
from ensedu.plot.style import Look
from tests.plot.looks import drawn, texts

ROWS = {
    "fast weights (514)": (0.003, 0.011, 0.019),
    "one network, trained on (130)": (-0.1, -0.06, -0.03),
}
TITLES = "later tasks", "earlier tasks"
CLEAR = {"later tasks": [], "earlier tasks": ["one network, trained on (130)"]}


def life(clear):
    """Two panels of the same rows."""
    return Life(
        dict.fromkeys(TITLES, ROWS), clear, dict.fromkeys(TITLES, 0.975),
        dict(zip(ROWS, ("batch_ensemble", "single"), strict=True)),
    )  # fmt: skip


def test_each_task_has_its_panel_beside_heads_alone():
    shown = life(CLEAR)
    words = {" ".join(text.get_text().split()) for text in texts(drawn(shown.draw, Look()))}
    assert {*ROWS, *TITLES, "heads alone: 0.975", "+0.011"} <= words


def test_it_says_whether_fast_weights_gain():
    said = life(CLEAR).say()
    assert said == "On later tasks, fast weights (514): +0.011 in accuracy, unclear."
    assert life({"later tasks": ["fast weights (514)"]}).say().endswith("accuracy, clear.")

"""Each chapter keeps its promise: every goal has its line in the summary and its exercise."""

import re

import pytest


def sections(notebook):
    """Map each `##` heading to the cells below it; a code cell keeps its place."""
    found, title = {}, ""
    for cell in notebook.cells:
        if cell.cell_type == "code":
            found.setdefault(title, []).append(("code", cell.source))
            continue
        for part in re.split(r"^(?=## )", cell.source, flags=re.MULTILINE):
            if part.startswith("## "):
                heading, _, part = part.partition("\n")
                title = heading.removeprefix("## ").strip()
            found.setdefault(title, []).append(("text", part))
    return found


def text(cells):
    return "\n".join(source for kind, source in cells if kind == "text")


def numbered(cells):
    """Return the items of the numbered list: `1. …`, `2. …`."""
    items = re.findall(r"^(\d+)\. (.+)", text(cells), flags=re.MULTILINE)
    assert [int(number) for number, _ in items] == list(range(1, len(items) + 1))
    return [item for _, item in items]


def directives(source, name):
    """Return (label, body) of each directive of this name; a fence or colons open and close it."""
    pattern = rf"^(`{{3,}}|:{{3,}})\{{{name}\}} *([^\n]*)\n(.*?)^\1 *$"
    return [
        (argument.strip(), body)
        for _, argument, body in re.findall(pattern, source, flags=re.MULTILINE | re.DOTALL)
    ]


def exercises(cells):
    """Return {label: (kind, goals)}: `**Code** (goals 1, 2). …` opens each exercise."""
    found = {}
    for _, body in directives(text(cells), "exercise"):
        label = re.search(r"^:label: (\S+)", body, flags=re.MULTILINE)
        opening = re.search(
            r"^\*\*(Check|Code|Think)\*\* \(goals? (\d+(?:, \d+)*)\)\.", body, flags=re.MULTILINE
        )
        assert label and opening, f"an exercise has a label, a kind and its goals:\n{body}"
        found[label[1]] = opening[1], {int(goal) for goal in opening[2].split(", ")}
    return found


def test_sections_in_order(chapter):
    wanted = ["What you will be able to do", "Predict", "Summary", "Exercises"]
    assert [title for title in sections(chapter) if title in wanted] == wanted


def test_goals(chapter):
    assert 3 <= len(numbered(sections(chapter)["What you will be able to do"])) <= 5


def test_opening_says_time_and_prerequisites(chapter):
    opening = text(sections(chapter)["What you will be able to do"])
    assert "Reading time" in opening
    assert "Before you start" in opening


def test_prediction_folds_out(chapter):
    assert re.search(r"\{dropdown\}|:class:.*\bdropdown\b", text(sections(chapter)["Predict"]))


def test_summary_has_one_line_a_goal(chapter):
    found = sections(chapter)
    goals = numbered(found["What you will be able to do"])
    assert len(numbered(found["Summary"])) == len(goals)


def test_every_goal_has_an_exercise(chapter):
    found = sections(chapter)
    goals = numbered(found["What you will be able to do"])
    tasks = exercises(found["Exercises"])
    assert len(tasks) >= 3
    assert {kind for kind, _ in tasks.values()} == {"Check", "Code", "Think"}
    assert set().union(*(met for _, met in tasks.values())) == set(range(1, len(goals) + 1))


def test_every_exercise_has_a_folded_solution(chapter):
    cells = sections(chapter)["Exercises"]
    solved = directives(text(cells), "solution") + directives(text(cells), "solution-start")
    for label, body in solved:
        assert ":class: dropdown" in body, label
    assert sorted(label for label, _ in solved) == sorted(exercises(cells))


def test_solutions_in_code_are_run(chapter):
    """A code exercise is solved by cells between `solution-start` and `solution-end`."""
    cells = sections(chapter)["Exercises"]
    open_label, run = None, set()
    for kind, source in cells:
        if kind == "code":
            assert open_label, f"code in Exercises belongs to a solution:\n{source}"
            run.add(open_label)
            continue
        for name, label in re.findall(r"\{(solution-start|solution-end)\} *(\S*)", source):
            open_label = label if name == "solution-start" else None
    assert open_label is None
    code = {label for label, (kind, _) in exercises(cells).items() if kind == "Code"}
    assert code <= run


@pytest.mark.parametrize(
    "source", ["```{exercise}\n:label: a\n**Code** (goals 1, 2). Do it.\n```", "## Other"]
)
def test_the_reader_of_exercises(source):
    expected = {"a": ("Code", {1, 2})} if "exercise" in source else {}
    assert exercises([("text", source)]) == expected

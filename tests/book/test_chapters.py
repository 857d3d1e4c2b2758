"""Each chapter has the same shape, and keeps its promise.

A figure first, then the box with the goals; every goal has its line in the summary and its
exercise; what a reader writes is told right from unfinished.
"""

import ast
import re
from itertools import dropwhile, takewhile

from scripts.source_lines import cells_of
from workshop.page.practice import RIGHT, UNFINISHED

OPENING = ":::::{admonition} You will be able to\n:class: opening\n"
MOST_CODE = 40  # lines that are not folded
MOST_LINES, FIRST_LINES, LEAST_CHANGES = 25, 8, 3  # of a cell, of the first one; cells that ask
SENTENCE_END = re.compile(r"[.?!](?=\s|$)")
# What stands in the text of exercises, in the order of the page.
MARK = re.compile(
    r"\{(exercise)\}.*\n:label: (\S+)|\{(solution-start|solution)\} *(\S+)"
    r"|\{(solution-end)\}()|\{(dropdown)\} *(.+)"
)


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


def numbered(source):
    """Return the items of the numbered list: `1. …`, `2. …`."""
    items = re.findall(r"^(\d+)\. (.+)", source, flags=re.MULTILINE)
    assert [int(number) for number, _ in items] == list(range(1, len(items) + 1))
    return [item for _, item in items]


def directives(source, name):
    """Return (label, body) of each directive of this name; a fence or colons open and close it."""
    pattern = rf"^(`{{3,}}|:{{3,}})\{{(?:{name})\}} *([^\n]*)\n(.*?)^\1 *$"
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


def goals(notebook):
    """Return the goals in the box that the third cell begins with."""
    cell = notebook.cells[2]
    assert cell.cell_type == "markdown" and cell.source.startswith(OPENING), cell.source
    ((_, body),) = directives(cell.source, "admonition")[:1]
    return numbered(body.partition("**Before you start**")[0])


def tags(cell):
    return cell.metadata.get("tags", [])


def is_figure(cell):
    """Also a table of the house, whose text is the table itself; the build folds its code, too."""
    last = ast.parse(cell.source).body[-1]
    called = last.value.func if isinstance(getattr(last, "value", None), ast.Call) else last
    return ast.unparse(called).rpartition(".")[2] in ("method_table", "table") or any(
        output.get("data", {})
        .get("text/plain", "")
        .startswith(("Explorer(", "Live(", "DrawDigit(", "XRay("))
        for output in cell.outputs
    )


def printed(cell):
    return "".join(output.text for output in cell.outputs if output.output_type == "stream")


def marked(cells):
    """Return what stands in these cells, in order: ("exercise", label), …, ("code", cell)."""
    found = []
    for cell in cells:
        if cell.cell_type == "code":
            found.append(("code", cell))
        else:
            for match in MARK.finditer(cell.source):
                found.append(tuple(group for group in match.groups() if group is not None))
    return found


def practiced(notebook):
    """Return {label: what stands between this exercise and the end of its solution}."""
    found, label = {}, None
    for kind, what in marked(notebook.cells):
        if kind == "exercise":
            label = what
        if label:
            found.setdefault(label, []).append((kind, what))
        if kind in ("solution", "solution-end"):
            label = None
    return found


def attempts(source):
    """Return the calls of `attempt` in code, each as text."""
    calls = (node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call))
    return [ast.unparse(call) for call in calls if ast.unparse(call.func) == "attempt"]


def test_a_title_and_one_sentence_and_then_a_figure(chapter):
    first, figure = chapter.cells[:2]
    title, _, rest = first.source.strip().partition("\n")
    assert first.cell_type == "markdown" and re.match(r"# \S", title)
    assert "\n\n" not in rest.strip(), "one paragraph"
    assert len(SENTENCE_END.findall(rest)) == 1, "one sentence"
    assert rest.rstrip().endswith((".", "?", "!"))
    assert figure.cell_type == "code" and is_figure(figure)


def test_cells_are_short_and_three_say_what_to_change(chapter):
    first, *others = cells_of(chapter)
    assert len(first.splitlines()) <= FIRST_LINES, first
    for cell in others:
        assert len(cell.splitlines()) <= MOST_LINES, cell
    asked = re.findall("^# Change this: ", "\n".join([first, *others]), flags=re.MULTILINE)
    assert len(asked) >= LEAST_CHANGES


def test_sections_in_order_and_a_line_of_the_summary_and_an_exercise_for_each_goal(chapter):
    found, number = sections(chapter), len(goals(chapter))
    assert list(found)[-2:] == ["Summary", "Exercises"]
    assert "{dropdown} References" in chapter.cells[-1].source
    assert not {"What you will be able to do", "Predict"} & set(found)
    assert len(numbered(text(found["Summary"]))) == number
    tasks = exercises(found["Exercises"])
    assert len(tasks) >= 3 and {kind for kind, _ in tasks.values()} == {"Check", "Code", "Think"}
    assert set().union(*(met for _, met in tasks.values())) == {*range(1, number + 1)}


def test_little_code_is_open(chapter):
    """All but figures, checks and exercises; a solution is folded as a whole."""
    lines, solving = 0, False
    for kind, what in marked(chapter.cells):
        if kind != "code":
            solving = kind == "solution-start" or (solving and kind != "solution-end")
        elif not solving and not is_figure(what) and not {"check", "yours"} & set(tags(what)):
            lines += len([line for line in what.source.splitlines() if line.strip()])
    assert lines <= MOST_CODE


def test_every_exercise_has_a_folded_solution(chapter):
    cells = sections(chapter)["Exercises"]
    solved = directives(text(cells), "solution") + directives(text(cells), "solution-start")
    for label, body in solved:
        assert ":class: dropdown" in body, label
    assert sorted(label for label, _ in solved) == sorted(exercises(cells))


def test_code_in_exercises_is_yours_or_a_solution(chapter):
    inside = practiced(chapter)
    known = {id(what) for parts in inside.values() for kind, what in parts if kind == "code"}
    exercises_begin = re.compile("^## Exercises", flags=re.MULTILINE)
    for cell in dropwhile(lambda cell: not exercises_begin.search(cell.source), chapter.cells):
        assert cell.cell_type != "code" or id(cell) in known, cell.source
    for parts in inside.values():
        for kind, what in takewhile(lambda part: part[0] != "solution-start", parts):
            assert kind != "code" or "yours" in tags(what), what.source


def test_code_exercises_can_be_tried(chapter):
    """Exercise, a cell to finish, a hint, and a solution that is told to be right."""
    kinds = {label: kind for label, (kind, _) in exercises(sections(chapter)["Exercises"]).items()}
    for label, parts in practiced(chapter).items():
        if kinds[label] != "Code":
            assert not [what for kind, what in parts if kind == "code" and "yours" in tags(what)]
            continue
        order = [kind for kind, _ in parts]
        solving = order.index("solution-start")
        assert order[:solving] == ["exercise", "code", "dropdown"], label
        assert order[-1] == "solution-end", label
        (_, yours), (_, title) = parts[1:3]
        assert title == "Hint", label
        assert "yours" in tags(yours), yours.source
        assert re.search(r"^ +return \.\.\.$", yours.source, flags=re.MULTILINE), yours.source
        assert printed(yours) == f"{UNFINISHED}\n", label
        solution = [what for kind, what in parts[solving:] if kind == "code"]
        assert any(printed(cell).endswith(f"{RIGHT}\n") for cell in solution), label
        asked = attempts(yours.source)
        assert asked, label
        assert asked[-1] in [call for cell in solution for call in attempts(cell.source)], label

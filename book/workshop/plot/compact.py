"""A figure's SVG without what a page does not show: lighter, and the same picture."""

import re

HEAD = re.compile(r"\A.*?(?=<svg )", flags=re.DOTALL)
UNSEEN = re.compile(r"<metadata>.*?</metadata>|<!--.*?-->", flags=re.DOTALL)
INDENT = re.compile(r"\n\s+")
PATH = re.compile(r'(?<= d=")[^"]*(?=")')
PART = re.compile(r"([MLQCz])([^MLQCz]*)")
FINE = 100  # of a point, a hundred of which are more than a screen shows of an inch


def compact(svg: str) -> str:
    """Return an SVG of Matplotlib without remarks and indents, its paths in hundredths of a point.

    A path goes on from where it is, so that equal steps are equal text, which packs well. Each
    place is rounded before steps are taken between them, so no error adds up.
    """
    svg = UNSEEN.sub("", HEAD.sub("", svg, count=1))
    return PATH.sub(lambda path: _in_steps(path[0]), INDENT.sub("\n", svg))


def _in_steps(path: str) -> str:
    """Return a path whose places are steps from the place before; it begins where it did."""
    found, here, start = [], (0, 0), (0, 0)
    for letter, numbers in PART.findall(path):
        if letter == "z":
            found.append("z")
            here = start
            continue
        values = [round(FINE * float(number)) for number in numbers.split()]
        places = list(zip(values[::2], values[1::2], strict=True))
        if letter == "M":
            [start] = places
            found.append(f"M{_text(start[0])} {_text(start[1])}")
        else:
            steps = " ".join(f"{_text(x - here[0])} {_text(y - here[1])}" for x, y in places)
            found.append(letter.lower() + steps)
        here = places[-1]
    return "\n".join(found)


def _text(hundredths: int) -> str:
    whole = f"{hundredths / FINE:.2f}".rstrip("0").rstrip(".")
    return "0" if whole == "-0" else whole

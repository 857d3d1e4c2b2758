"""What chapters say of the contest, each word in italics, is what its tables say."""

import re
from itertools import chain

import pytest

from ensedu.book.experiments.contest import reading
from tests.book.conftest import NOTEBOOKS, read

WORD = r"\*(better|worse|practically equal|unclear)\*"
#: Chapter, a sentence with gaps, and for each gap a contestant and the one beside which it stands.
CLAIMS = (
    (
        "counting/comparison",
        "in NLL its word is {} for a mean-field BNN beside one network, and {} for MC dropout.",
        [("mean_field", "single"), ("mc_dropout", "single")],
    ),
)


def prose(chapter):
    """Return the text of a chapter, its lines joined."""
    cells = (cell.source for cell in read(chapter).cells if cell.cell_type == "markdown")
    return " ".join("\n".join(cells).split())


@pytest.mark.parametrize(("where", "sentence", "pairs"), CLAIMS)
def test_a_word_is_that_of_the_tables(where, sentence, pairs):
    found = re.findall(re.escape(sentence).replace(r"\{\}", WORD), prose(f"book/{where}"))
    assert len(found) == 1, sentence
    said = [found[0]] if isinstance(found[0], str) else [*found[0]]
    assert len(said) == len(pairs)
    if not reading.poolable("nll", "all"):
        pytest.skip("too few tables of the contest are there")
    assert said == [reading.compared("nll", other)[name].word for name, other in pairs]


def test_no_word_stands_unproved():
    claimed = {f"book/{chapter}" for chapter, _, _ in CLAIMS}
    words = [len(re.findall(WORD, prose(chapter))) for chapter in NOTEBOOKS if chapter in claimed]
    assert sum(words) == len([*chain.from_iterable(pairs for _, _, pairs in CLAIMS)])

"""The sentence under a figure says one thing: so many words, so many numbers, and no more."""

import re
from collections.abc import Iterable
from html import escape

MOST_WORDS, MOST_NUMBERS = 20, 3
NUMBER = re.compile(r"[-−+±]?\d[\d,]*(\.\d+)?(e[-−+]?\d+)?")
AROUND = "()[]{}.,;:!?%×°\"'“”"  # what may stand before or behind a word


def too_much(sentence: str) -> str:
    """Return what a sentence has too much of, in words; nothing of one that says one thing."""
    words = [word.strip(AROUND) for word in sentence.split() if any(map(str.isalnum, word))]
    numbers = list(filter(NUMBER.fullmatch, words))
    kinds = {"words": (len(words), MOST_WORDS), "numbers": (len(numbers), MOST_NUMBERS)}
    return " and ".join(f"{found} {kind}" for kind, (found, most) in kinds.items() if found > most)


def live_sentence(sentence: str, others: Iterable[str]) -> str:
    """Return it as HTML, with room for the longest of those that may stand in its place."""
    return (
        f'<div class="ensedu-said" data-longest="{escape(max(others, key=len))}">'
        f'<p class="ensedu-live" role="status">{escape(sentence)}</p></div>'
    )

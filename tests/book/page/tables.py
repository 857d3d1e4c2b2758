"""Tables that several tests look at."""

import numpy as np
from bs4 import BeautifulSoup

from ensedu import counting
from ensedu.methods import size_option
from workshop.page.method_table import method_table

SIZES = {"1-50-50-1": [1, 50, 50, 1], "1-1000-1000-1": [1, 1000, 1000, 1]}
SCORES = {
    "deep_ensemble": {
        ("CIFAR-10", "NLL"): (0.1134, 0.1141, 0.115),
        ("CIFAR-10", "accuracy, %"): 96.6,
        "change": np.int8(-71),
        "from": "Nado et al.",
    },
    "Cauchy": {
        ("CIFAR-10", "NLL"): (-0.2, np.float32(-0.125), 0),
        ("CIFAR-10", "accuracy, %"): 96,
        "change": 5,
        "from": None,
    },
}


def parsed(found):
    return BeautifulSoup(found.html(), "html.parser")


def totals(*methods, sizes=SIZES, **options):
    rows = {
        method: {
            name: counting.mlp(each, method, **size_option(method, 4))
            for name, each in sizes.items()
        }
        for method in methods
    }
    return method_table(rows, **options)


def scores():
    return method_table(
        SCORES,
        columns={("CIFAR-10", "NLL"): 3, ("CIFAR-10", "accuracy, %"): 1, "change": "{:+,} MB"},
        colors={"Cauchy": "rank1"},
    )

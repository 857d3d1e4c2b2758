"""What lives on a page: sliders over figures, and the playground, without a kernel."""

from ensedu import plot as plot  # without Matplotlib it says what to install

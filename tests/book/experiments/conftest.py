"""The toy experiment is imported by other processes, too, where `tests` may be another package."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

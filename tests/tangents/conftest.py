"""neural-tangents without its experimental part, which is not used here and needs TensorFlow."""

import sys
from types import ModuleType

sys.modules["neural_tangents.experimental"] = ModuleType("neural_tangents.experimental")

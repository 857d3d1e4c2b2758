"""What the independent packages need to be imported at all."""

import contextlib

import torch

# torchmetrics and Lightning import torchvision. That for CUDA brings operators that a CPU-only
# Torch cannot load; of two of them it speaks at import, so they must have a name.
try:
    with contextlib.suppress(ImportError):
        import torchvision as torchvision
except RuntimeError:
    FRAGMENT = torch.library.Library("torchvision", "FRAGMENT")
    for name in ("nms", "qnms"):
        FRAGMENT.define(f"{name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")

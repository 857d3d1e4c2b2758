"""Settings of the zoo: offline, and a torchvision that loads beside a CPU-only Torch."""

import os

import torch

os.environ["HF_HUB_OFFLINE"] = "1"

# torchvision for CUDA brings operators that a CPU-only Torch cannot load. At
# import it describes two of them, so they must at least have a name; no model here calls them.
_fragment = torch.library.Library("torchvision", "FRAGMENT")
for _name in ("nms", "qnms"):
    if not hasattr(torch.ops.torchvision, _name):
        _fragment.define(f"{_name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")

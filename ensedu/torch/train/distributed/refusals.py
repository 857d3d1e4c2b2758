"""What can be spread over processes, and why the rest cannot."""

from typing import Any

from torch import nn

from ensedu.torch.base import MemberLayer, WeightLayer
from ensedu.torch.dropout import MCDropout
from ensedu.torch.whole.copies import MemberCopies
from ensedu.torch.whole.flatten import FlatEnsemble


def checked_ensemble_size(net: Any) -> int:
    """Check that `net` can be spread over processes, and return the number of its members."""
    if not isinstance(net, (nn.Sequential, MemberCopies, FlatEnsemble)):
        words = "net must be an nn.Sequential or what ensedu.torch.ensemble returns"
        raise TypeError(f"{words}, got {type(net).__name__}")
    if isinstance(net, MemberCopies):
        modules = [module for member in net.members for module in member.modules()]
        if len(set(modules)) < len(modules):
            words = "accepted is a deep ensemble without, or a method whose members share"
            raise ValueError(f"net has modules that are shared by whole models; {words}")
        return len(net.members)
    for name, part in net.named_modules():
        for is_one, why in REFUSED:
            if is_one(part) and not (part is net and why == ENSEMBLE):
                raise ValueError(
                    f"net has a {type(part).__name__} at {name!r}, which {why}; accepted are other "
                    "modules, or a deep ensemble of ensedu.torch.ensemble"
                )
    layers = {k: part for k, part in net.named_modules() if isinstance(part, MemberLayer)}
    sizes = {name: layer.ensemble_size for name, layer in layers.items()}
    if len(set(sizes.values())) != 1:
        raise ValueError(f"net must have layers of one ensemble_size, got {sizes or 'none'}")
    return next(iter(sizes.values()))


def _draws_by_itself(part: nn.Module) -> bool:
    # Attention and RNNs keep a probability and no module.
    chances = [getattr(part, key, None) for key in ("p", "dropout", "drop_prob")]
    drops = any(isinstance(chance, float) and 0 < chance <= 1 for chance in chances)
    layer = isinstance(part, (WeightLayer, MCDropout)) and not isinstance(part, MemberLayer)
    return drops or layer


def _keeps_statistics(part: nn.Module) -> bool:
    return "BatchNorm" in type(part).__name__ or getattr(part, "running_mean", None) is not None


ENSEMBLE = "is an ensemble by itself"
REFUSED = (
    (lambda part: getattr(part, "samples", None) is not None, "draws more than one sample a step"),
    (lambda part: hasattr(part, "leading"), ENSEMBLE),
    (_draws_by_itself, "draws noise that would depend on the number of processes"),
    (_keeps_statistics, "would see the members of one process alone"),
)

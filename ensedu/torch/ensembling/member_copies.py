"""A deep ensemble of a model: whole copies as members, and where each of them starts."""

import copy
import inspect
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from ensedu.torch.base import Ensemble
from ensedu.torch.ensembling.model_checks import StartWarning, trained_part
from ensedu.torch.ensembling.model_copies import copy_model, deepcopy_memo
from ensedu.torch.ensembling.parameter_plan import is_within, named_parts
from ensedu.torch.inputs import check_own_batches
from ensedu.torch.tensor_checks import class_path
from ensedu.torch.trees import map_tensors, stack_trees

# Tensors of fewer entries say too little about the distribution that they were drawn from.
FEWEST_ENTRIES = 16
# By so much may the sizes of two draws of many entries differ without a word.
LARGEST_RATIO = 1.5


class MemberCopies(Ensemble):
    """M whole models side by side: (B, …) -> (M, B, …). `ensedu.torch.ensemble` builds it.

    Inputs are what the model takes, with or without a batch axis; a tensor is copied for each
    member.
    """

    def __init__(self, members: Sequence[nn.Module], shared: Sequence[str]) -> None:
        super().__init__(len(members))
        self.members = nn.ModuleList(members)
        self.training = self.members.training = members[0].training
        self._shared = tuple(f"{name}." for name in shared)

    def role_inside(self, path: str, role: str) -> str:
        own = path.removeprefix("members.").partition(".")[2] + "."
        return "per_member" if role == "shared" and not own.startswith(self._shared) else role

    def member(self, index: int | tuple[int, ...], noise: None = None) -> nn.Module:
        """Return a copy of one member; raises as `ModelEnsemble.member` does."""
        if noise:
            raise ValueError(f"noise must be left out where nothing is drawn, got {noise!r}")
        return copy_model(self.members[self._place(index)[0]])

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        if self.own_batches:
            check_own_batches(len(self.members), args, kwargs)

        def inputs_of(tree: Any, i: int) -> Any:
            # A member that works in place would change the next one's input.
            return map_tensors(
                lambda _, x: (x[i] if self.own_batches else x).clone(), tree, "input", strict=False
            )

        outputs = [
            member(*inputs_of(args, i), **inputs_of(kwargs, i))
            for i, member in enumerate(self.members)
        ]
        return stack_trees(outputs, "the output")


def deep_ensemble(
    model: nn.Module, M: int, shared: tuple[str, ...], initialize: Any
) -> MemberCopies:
    """Return M copies of `model` that start anew, but for what is `shared`."""
    if initialize is not None and not callable(initialize):
        raise TypeError(
            "initialize must be a function that returns a new model, or one of a module, got "
            f"{initialize!r}"
        )
    own = [named for named in model.named_parameters() if not is_within(named[0], shared)]
    if frozen := [name for name, parameter in own if not parameter.requires_grad]:
        raise ValueError(
            f"model has frozen parameters, {', '.join(frozen)}, which new members would draw "
            "anew; accepted are trained ones, and frozen ones that are listed in shared"
        )
    memo = deepcopy_memo(model)
    for name, part in named_parts(model):
        if name in shared:  # what deepcopy finds in its memo it does not copy again
            copy.deepcopy(part, memo)
    values = {name: x for name, x in _named_arrays(model, False).items() if is_within(name, shared)}
    members = []
    for _ in range(M):
        member = copy.deepcopy(model, dict(memo))
        if initialize is None:
            _reset_all(member, shared)
        elif _takes_no_argument(initialize):
            _copy_arrays(member, initialize())
        else:
            initialize(member)
        arrays = _named_arrays(member, False)
        with torch.no_grad():  # an outer module may have initialized shared parts on its way
            for name, value in values.items():
                arrays[name].copy_(value)
        members.append(member)
    if initialize is None:
        _warn_of_another_start(model, members[0], shared)
    elif M > 1 and all(
        not a.is_meta and torch.equal(a, b)
        for a, b in zip(*(_named_arrays(one).values() for one in members[:2]), strict=True)
    ):
        warnings.warn(
            "members 1 and 2 start equal, and will stay so: initialize draws nothing",
            StartWarning,
            stacklevel=3,
        )
    return MemberCopies(members, shared)


def _takes_no_argument(function: Callable[..., Any]) -> bool:
    try:
        inspect.signature(function).bind()
    except (TypeError, ValueError):  # it takes some; some of those written in C tell nothing
        return False
    return True


def _copy_arrays(member: nn.Module, new: Any) -> None:
    """Give `member` the values of a new model of the same arrays."""
    if not isinstance(new, nn.Module):
        raise TypeError(f"initialize() must return a model, got {type(new).__name__}")
    mine, theirs = _named_arrays(member), _named_arrays(new)
    wanted, got = (
        {name: tuple(value.shape) for name, value in arrays.items()} for arrays in (mine, theirs)
    )
    differ = sorted(name for name in wanted | got if wanted.get(name) != got.get(name))
    if differ:
        name = differ[0]
        raise ValueError(
            f"initialize() must return a model of the same arrays, got {name} "
            f"{got.get(name, 'missing')}, accepted is {wanted.get(name, 'none')}"
        )
    with torch.no_grad():
        for name, value in mine.items():
            value.copy_(theirs[name])


def _named_arrays(model: nn.Module, remove_duplicate: bool = True) -> dict[str, Tensor]:
    parameters = model.named_parameters(remove_duplicate=remove_duplicate)
    return dict(parameters) | dict(model.named_buffers(remove_duplicate=remove_duplicate))


def _reset_all(member: nn.Module, shared: tuple[str, ...]) -> None:
    """Call every module's own method, inner modules first, and check that it fills everything."""
    own = {
        name: parameter
        for name, parameter in member.named_parameters(remove_duplicate=False)
        if not is_within(name, shared)
    }
    with torch.no_grad():
        for parameter in own.values():
            parameter.fill_(float("nan"))
    for name, module in reversed(list(member.named_modules())):
        reset = _reset_method(module)
        if not is_within(name, shared) and reset is not None:
            reset()
    fixed = [
        f"{name} ({class_path(owner)})"
        for path, owner in member.named_modules()
        for name, value in owner.named_parameters(prefix=path, recurse=False)
        if name in own
        # On the meta device there are no values to look at.
        and (_reset_method(owner) is None if value.is_meta else bool(value.isnan().any()))
    ]
    if fixed:
        raise ValueError(
            f"model has parameters that nothing initializes anew: {', '.join(fixed)}; accepted are "
            "initialize=, a function that returns a new model or initializes one in place, modules "
            "with a reset_parameters() method, and names listed in shared"
        )


def _reset_method(module: nn.Module) -> Callable[[], Any] | None:
    """The method that initializes a module's own parameters; two of Torch's have it in private."""
    return getattr(module, "reset_parameters", None) or getattr(module, "_reset_parameters", None)


def _warn_of_another_start(model: nn.Module, member: nn.Module, shared: tuple[str, ...]) -> None:
    """Say where ``reset_parameters()`` is not how the model itself starts."""
    if trained_part(model, shared):
        return  # no start gives its values
    differ = []
    for name, value in model.named_parameters():
        if value.is_meta or value.numel() < FEWEST_ENTRIES or is_within(name, shared):
            continue
        old, new = (
            float(part.detach().double().square().mean().sqrt())
            for part in (value, member.get_parameter(name))
        )
        # The size of few entries varies by itself.
        alike = LARGEST_RATIO * (1 + 2 / value.numel() ** 0.5)
        if max(old, new) > alike * min(old, new):
            differ.append(f"{name} {old:.3g} -> {new:.3g}")
    if differ:
        warnings.warn(
            "members start by each module's reset_parameters(), and that is not how this model "
            "started: the root mean square of "
            f"{', '.join(differ[:5])}{', ...' if len(differ) > 5 else ''}. Members start as the "
            "model does with initialize=lambda: Net(), a function that returns a new model",
            StartWarning,
            stacklevel=4,
        )

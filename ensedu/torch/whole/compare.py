"""Hold an ensemble of a whole model against plain runs of its members, one by one."""

import re
import threading
from collections.abc import Callable, Container, Iterator
from contextlib import AbstractContextManager, contextmanager
from math import prod
from typing import Any
from weakref import WeakSet

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.modules.module import register_module_forward_pre_hook
from torch.overrides import TorchFunctionMode

from ensedu.methods import METHODS
from ensedu.torch.base import WeightLayer, class_path, gpus_of
from ensedu.torch.variational import inverse_softplus
from ensedu.torch.whole.nested_tensors import map_tensors, named_constants, named_tensors

# So many members are compared at most.
MOST_COMPARED = 8
# By so much of their size members are drawn apart for the comparison.
SPREAD = 0.2
# Smaller than this part of its usual size, a parameter would hide what runs through it.
SMALL = 0.02
# Functions of Torch that may draw.
DRAWING = re.compile(
    "rand|drop|normal|uniform|bernoulli|multinomial|gamma|poisson|exponential|geometric|cauchy|"
    "gumbel|rrelu|attention|gru|lstm|rnn|binomial|dirichlet"
)
SHORT_DTYPES = (torch.float16, torch.bfloat16)


class MixUp(ValueError):
    """An ensemble whose members are not what they are alone."""


class Originals:
    """The modules of the model that was converted, for as long as they live elsewhere."""

    def __init__(self, model: nn.Module | None = None) -> None:
        self._modules: WeakSet[nn.Module] = WeakSet([] if model is None else model.modules())

    def __contains__(self, module: nn.Module) -> bool:
        return module in self._modules

    def __deepcopy__(self, _: Any) -> "Originals":
        return self

    def __reduce__(self) -> Any:  # a file has none
        return Originals, ()


def kind_of_pass(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What decides the way through a model: which inputs there are, and which axes are of 1."""
    inputs = (args, kwargs)
    tensors = tuple((name, *(size == 1 for size in x.shape)) for name, x in named_tensors(inputs))
    flags = named_constants(inputs)
    return tensors, tuple((name, x) for name, x in flags if isinstance(x, (bool, str, type(None))))


def is_compared(number: int) -> bool:
    """Whether the pass of this number is one of 1, 2, 4, 8, …: few, and never all of the first."""
    return not number & (number - 1)


def is_traced() -> bool:
    """Whether a forward pass is recorded and not run."""
    return torch.compiler.is_compiling() or torch.jit.is_tracing()


def is_comparable(net: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether a forward pass has tensors with values, which nothing transforms."""
    tensors = [*(x for _, x in named_tensors((args, kwargs))), *net.parameters()]
    plain = Tensor.__torch_dispatch__
    return all(
        type(x).__torch_dispatch__ is plain and not x.is_meta and torch.func.debug_unwrap(x) is x
        for x in tensors
    )


def check_members(net: nn.Module, *args: Any, **kwargs: Any) -> None:
    """Compare an ensemble of `ensedu.torch.ensemble` with plain runs of its members.

    Runs ``net(*args, **kwargs)`` and each member alone, ``net.member(i)(*args, **kwargs)``, at most
    eight of them, in eval mode and at least in float32, on a copy whose members are drawn apart and
    whose zeros are drawn anew, so that a mix-up shows even where members are nearly equal.

    Parameters
    ----------
    net
        What `ensedu.torch.ensemble` returns.
    args, kwargs
        Inputs of a forward pass.

    Raises
    ------
    TypeError
        For another `net`.
    ValueError
        If a member's output differs by more than rounding; the error names the first module that
        differs. If a module of the model that was converted is called. For a model of which no two
        runs are equal, and for outputs without a number to compare.
    """
    if not (hasattr(net, "eval_copy") and hasattr(net, "member")):
        raise TypeError(f"net must be what ensedu.torch.ensemble returns, got {type(net).__name__}")
    net.check_inputs(args, kwargs)
    why_not = compare(net, args, kwargs)
    if why_not:
        raise ValueError(f"net cannot be compared with its members: {why_not}")


#: What `compare` says where another batch may tell more.
NO_NUMBER = "its outputs hold no number"


#: What to do where a body that ran once made another function of the members.
REPEAT_BODY = "net.runs_body_once = False repeats it for each member, which takes as much longer"


def compare(net: Any, args: tuple[Any, ...], kwargs: dict[str, Any], *, first: bool = True) -> str:
    """`check_members`, which says why there was nothing to compare; "" where all is equal.

    Where a body may run once, the `first` pass of a kind decides, for all that come, whether it
    does: members that are then what they are alone.
    """
    if getattr(net, "runs_body_once", False) is False:
        return _compare_members(net, args, kwargs)
    trial = net.eval_copy()
    trial.runs_body_once = True
    try:
        why_not = _compare_members(trial, args, kwargs)
    except Exception as error:
        if net.runs_body_once and not first:
            error.add_note(f"The body ran once for all members; {REPEAT_BODY}.")
            raise
        trial.runs_body_once = False
        why_not = _compare_members(trial, args, kwargs)
    if not why_not:
        net.runs_body_once = trial.runs_body_once
    return why_not


def _compare_members(net: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
    # One pass is as short as its shortest number, so none is.
    with (
        _own_draws_undone(gpus_of(net)),
        unfused(),
        _no_autocast(),
        refuse_calls_of(net.originals),
    ):
        args, kwargs = (map_tensors(_at_least_float32, tree, "input") for tree in (args, kwargs))
        net = _drawn_apart(net)
        noise: dict[str, Tensor] = {}
        if hasattr(net, "noise"):
            like = next(net.parameters(), torch.empty(0))
            noise = net.noise(torch.Generator(like.device).manual_seed(0), *args, **kwargs)
        # A model may change while it runs: each run is that of a fresh copy.
        outputs = _outputs_of(net.eval_copy(), args, kwargs, noise)
        told = False
        for row, place in _places_to_compare(net.leading):
            expected = _outputs_of(net.member(place, noise or None), args, kwargs)
            mine = {name: y[place] if isinstance(y, Tensor) else y for name, y in outputs.items()}
            name = _first_that_differs(mine, expected)
            told |= any(isinstance(y, Tensor) and bool(y.isfinite().any()) for y in mine.values())
            if name is None:
                continue
            again = _outputs_of(net.member(place, noise or None), args, kwargs)
            if _first_that_differs(again, expected) is not None:
                return "it draws at random in eval mode, so that no two runs are equal"
            where = _first_difference(net, place, row, args, kwargs, noise)
            off = _mean_difference(mine.get(name), expected.get(name))
            raise MixUp(
                f"the ensemble is not its members: {name or 'the output'} of entry {place} is off "
                f"by {off:.2g} of its size from that of the member alone, first at {where}. Inside "
                "a model the batch must stay the first axis, each member's examples in order, and "
                "no example may look at another; accepted is such a model, or a deep ensemble, "
                "which copies the whole model"
            )
    return "" if told else NO_NUMBER


class _Unfusing:
    """How many threads need Torch's layers unfused, a switch that they have in common."""

    lock = threading.Lock()
    threads = 0
    before = True


@contextmanager
def unfused(needed: bool = True) -> Iterator[None]:
    """Keep Torch's transformer modules from reading the weights of layers that they do not call."""
    if not needed:
        yield
        return
    with _Unfusing.lock:
        if not _Unfusing.threads:
            _Unfusing.before = torch.backends.mha.get_fastpath_enabled()
            torch.backends.mha.set_fastpath_enabled(False)
        _Unfusing.threads += 1
    try:
        yield
    finally:
        with _Unfusing.lock:
            _Unfusing.threads -= 1
            if not _Unfusing.threads:
                torch.backends.mha.set_fastpath_enabled(_Unfusing.before)


@contextmanager
def refuse_calls_of(originals: Originals) -> Iterator[None]:
    """Refuse a copy that calls, in this thread, a part of the model that it was copied from."""
    own = threading.get_ident()

    def refuse_originals(module: nn.Module, _: Any) -> None:
        if threading.get_ident() == own and module in originals:
            raise MixUp(
                f"the model calls a {class_path(module)} of the model that was converted, which a "
                "function or an object of it has kept; accepted is a model that reaches its parts "
                "through self"
            )

    handle = register_module_forward_pre_hook(refuse_originals)
    try:
        yield
    finally:
        handle.remove()


def _own_draws_undone(gpus: list[int]) -> AbstractContextManager[Any]:
    """Undo what this thread draws from Torch's generators, and not what others draw meanwhile."""
    # To watch each call takes time that a thread which is alone can save.
    return torch.random.fork_rng(gpus) if threading.active_count() == 1 else _OwnDraws(gpus)


class _OwnDraws(TorchFunctionMode):
    """Gives generators back as they were if a function that this thread calls drew from them."""

    def __init__(self, gpus: list[int]) -> None:
        super().__init__()
        self._gpus, self._before = gpus, self._states(gpus)
        self._any = False

    @staticmethod
    def _states(gpus: list[int]) -> list[Tensor]:
        return [torch.get_rng_state(), *map(torch.cuda.get_rng_state, gpus)]

    def __torch_function__(
        self, function: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        # Of others, another thread's draws would seem to be this one's.
        if not DRAWING.search(getattr(function, "__name__", "")):
            return function(*args, **kwargs or {})
        before = self._states(self._gpus)
        result = function(*args, **kwargs or {})
        self._any |= not all(map(torch.equal, before, self._states(self._gpus)))
        return result

    def __exit__(self, *error: Any) -> None:
        super().__exit__(*error)
        if self._any:
            torch.set_rng_state(self._before[0])
            for gpu, state in zip(self._gpus, self._before[1:], strict=True):
                torch.cuda.set_rng_state(state, gpu)


@contextmanager
def _no_autocast() -> Iterator[None]:
    """Switch autocast off."""
    with torch.autocast("cpu", enabled=False), torch.autocast("cuda", enabled=False):
        yield


def _at_least_float32(_: str, x: Tensor) -> Tensor:
    return x.float() if x.dtype in SHORT_DTYPES else x


def _places_to_compare(leading: tuple[int, ...]) -> Iterator[tuple[int, tuple[int, ...]]]:
    """Yield the number and the indices of members from the first to the last, not too many."""
    rows = prod(leading)
    for row in sorted({round(i * (rows - 1) / (MOST_COMPARED - 1)) for i in range(MOST_COMPARED)}):
        # Torch's own unravel_index would load SymPy first, for seconds.
        yield row, tuple(int(i) for i in np.unravel_index(row, leading))


@torch.no_grad()
def _drawn_apart(net: Any) -> Any:
    """Return a copy in eval mode whose members differ, and whose noise is one for all examples."""
    short = any(p.dtype in SHORT_DTYPES for p in net.parameters())
    eval_copy = net.eval_copy(shares=False).float() if short else net.eval_copy()
    eval_copy.own_batches = False  # members have one batch in common
    source = torch.Generator().manual_seed(0)

    def drawn(like: Tensor) -> Tensor:
        return torch.randn(like.shape, generator=source).to(like)

    for module in eval_copy.modules():
        for name, old in list(module.named_parameters(recurse=False)):
            usual = (old[0].numel() or 1) ** -0.5 if old.ndim > 1 else 0.1
            if (
                old.is_floating_point()
                and 0 < old.numel()
                and root_mean_square(old) < SMALL * usual
            ):
                setattr(module, name, nn.Parameter(usual * drawn(old)))
        if not isinstance(module, WeightLayer):
            continue
        for array in METHODS[module.method].arrays:
            old = getattr(module, array.name)
            if old is not None and array.role == "per_member" and "m n" not in array.shape:
                setattr(module, array.name, nn.Parameter(old * (1 + SPREAD * drawn(old))))
            elif array.name.endswith("_rho") and old is not None:
                mean = getattr(module, array.name.replace("_rho", "_mean"))
                rho = inverse_softplus(SPREAD * max(root_mean_square(mean), 1e-3))
                setattr(module, array.name, nn.Parameter(torch.full_like(old, rho)))
        for setting, plain in (("per_example", False), ("estimator", "weights")):
            if hasattr(module, setting):
                setattr(module, setting, plain)
    return eval_copy


def root_mean_square(value: Tensor) -> float:
    """Return the size of an entry as it usually is."""
    return float(value.detach().double().square().mean().sqrt())


def _outputs_of(
    net: Any, args: tuple[Any, ...], kwargs: dict[str, Any], noise: dict[str, Tensor] | None = None
) -> dict[str, Any]:
    """Return what an output holds by name; a model that works in place gets a copy."""

    def copied(_: str, x: Tensor) -> Tensor:
        return x.clone()

    args, kwargs = map_tensors(copied, args, "input"), map_tensors(copied, kwargs, "input")
    output = net.run(args, kwargs, noise) if noise else net(*args, **kwargs)
    return {name: x.detach() for name, x in named_tensors(output)} | dict(named_constants(output))


def _first_that_differs(one: dict[str, Any], other: dict[str, Any]) -> str | None:
    """Return the first name whose values are not equal but for rounding."""
    for name in [*other, *one]:
        if _mean_difference(one.get(name), other.get(name)) > _rounding(other.get(name)):
            return name
    return None


def _mean_difference(y: Any, expected: Any) -> float:
    """How far entries are off on average, each as a part of its size and at most by all of it.

    Entries smaller than almost all count as large as those, and none as less than rounding makes.
    """
    if not isinstance(y, Tensor) or not isinstance(expected, Tensor):
        return 0.0 if type(y) is type(expected) and (y is expected or y == expected) else 1.0
    if y.shape != expected.shape:
        return 1.0
    if expected.is_complex():
        y, expected = torch.view_as_real(y), torch.view_as_real(expected)
    if not y.numel():
        return 0.0
    if not expected.is_floating_point():
        return float((y != expected).double().mean())
    least = torch.finfo(expected.dtype).eps ** 0.5 / 3
    y, expected = y.double(), expected.double()
    sizes = expected.abs()
    known = sizes[sizes.isfinite() & (sizes > 0)]
    if known.numel():
        least = max(least, float(known.kthvalue(1 + known.numel() // 20)[0]))
    parts = ((y - expected).abs() / (sizes + least)).clamp(max=1).nan_to_num(1.0)
    # Equal infinities and NaNs differ by nothing.
    same = (y == expected) | (y.isnan() & expected.isnan())
    return float(torch.where(same, 0, parts).mean())


def _rounding(expected: Any) -> float:
    if not isinstance(expected, Tensor):
        return 0.0
    inexact = expected.is_floating_point() or expected.is_complex()
    return 3 * torch.finfo(expected.dtype).eps ** 0.5 if inexact else 0.01


def _first_difference(
    net: Any,
    place: tuple[int, ...],
    row: int,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    noise: dict[str, Tensor],
) -> str:
    """Name the first module to end of whose output no part is the member's."""
    whole, member = net.eval_copy(), net.member(place, noise or None)
    kinds = dict(member.named_modules())
    inside = whole.members[row] if hasattr(whole, "members") else whole.model
    ensemble = _recorded_outputs(inside, kinds, lambda: _outputs_of(whole, args, kwargs, noise))
    alone = _recorded_outputs(member, kinds, lambda: _outputs_of(member, args, kwargs))
    for (name, y), (own_name, own) in zip(ensemble, alone, strict=False):
        if name != own_name or not _holds_output_of(y, own, row):
            return f"{name or 'the model'}, a {class_path(kinds[name])}"
    return "the model, outside of its modules"


def _recorded_outputs(
    model: nn.Module, names: Container[str], run: Callable[[], Any]
) -> list[tuple[str, Tensor]]:
    """Return the tensors that the modules of these names return during a run."""
    found: list[tuple[str, Tensor]] = []

    def keep(name: str) -> Callable[..., None]:
        def hook(_: nn.Module, __: Any, output: Any) -> None:
            if isinstance(output, Tensor):
                found.append((name, output.detach().clone()))

        return hook

    handles = [
        part.register_forward_hook(keep(name))
        for name, part in model.named_modules()
        if name in names
    ]
    try:
        run()
    finally:
        for handle in handles:
            handle.remove()
    return found


def _holds_output_of(y: Tensor, own: Tensor, row: int) -> bool:
    """Whether `own` stands in `y` as the part of member `row`, on any axis."""
    if y.ndim != own.ndim:
        return False
    if y.shape == own.shape:  # one for all members
        return _mean_difference(y, own) <= _rounding(own)
    for axis, size in enumerate(own.shape):
        start = row * size
        if start + size <= y.shape[axis]:
            part = y.narrow(axis, start, size)
            if part.shape == own.shape and _mean_difference(part, own) <= _rounding(own):
                return True
    return False

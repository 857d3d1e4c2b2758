"""The bases of all layers and of all ensembles of models; seeds."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, ClassVar

import torch
from jaxtyping import Float
from torch import Tensor, nn

from ensedu.common import checks, layer_checks
from ensedu.torch.tensor_checks import check_device, check_generator, check_tensor

#: What normalizes: its weights multiply as fast weights do, and its biases are biases.
NORMALIZATIONS = (
    nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d, nn.SyncBatchNorm,
    nn.InstanceNorm1d, nn.InstanceNorm2d, nn.InstanceNorm3d,
    nn.LayerNorm, nn.GroupNorm, nn.RMSNorm,
)  # fmt: skip


class WeightLayer(nn.Module):
    """Base of all layers with weights: where they start, and checks of what they are given.

    A layer has two bases: `LinearLayer` or `ConvLayer`, which knows sizes, axes and products, and
    that of its method, such as `BatchEnsembleLayer`, which has the parameters and the forward pass.
    """

    #: The row of `ensedu.methods.METHODS` that says what each parameter is for.
    method: ClassVar[str] = ""
    #: Whether it draws noise in each pass.
    draws: ClassVar[bool] = False
    #: The axis of a layer's input that counts the examples.
    batch_axis: ClassVar[int]
    #: The shape in which one weight is stored.
    weight_shape: tuple[int, ...]
    #: How many inputs one output sums.
    fan_in: int
    #: How many numbers describe an example's inputs (for r) and its outputs (for s, biases).
    in_features: int
    out_features: int
    #: What the first base has: the axes of an example, ``W ∘ r sᵀ``, and weights as in the book.
    _example_axes: Callable[[], tuple[int | str, ...]]
    modulated_weights: Callable[..., Tensor]
    in_book_axes: Callable[..., Tensor]
    #: What that of the method has: it makes the parameters, and of them each member's weight.
    _make_parameters: Callable[..., None]
    stored_weights: Callable[..., Tensor]

    def __init__(self, device: torch.device | str | None, dtype: torch.dtype | None) -> None:
        super().__init__()
        if dtype is not None and not (isinstance(dtype, torch.dtype) and dtype.is_floating_point):
            raise TypeError(
                f"dtype must be a floating-point torch.dtype or None, got {checks.describe(dtype)}"
            )
        self._factory = {"device": check_device(device), "dtype": dtype}

    def weight_matrices(self, noise: Any = None) -> Float[Tensor, "*axes"]:
        """Each member's or sample's matrix as the book writes it, through which gradients flow.

        (M, m, n), of a convolution the kernels, (M, C_in, C_out, K, K), with 0 between groups. Of a
        method that draws, those of one `noise`: (S, m, n) where it has no members, S = 1 for noise
        without a leading axis; (S, M, m, n) for noise of S samples of members; (M, B, m, n) with
        ``per_example=True``.
        """
        return self.in_book_axes(self.stored_weights(noise))

    def _empty_parameter(self, *shape: int) -> nn.Parameter:
        return nn.Parameter(torch.empty(shape, **self._factory))

    def _empty_bias(self, bias: Any, *leading: int) -> nn.Parameter | None:
        if not checks.boolean("bias", bias):
            return None
        return self._empty_parameter(*leading, self.out_features)

    def _check_std(self, name: str, value: Any) -> float:
        """Check a standard deviation: what σ² and 1/σ² of this dtype can hold."""
        limits = torch.finfo(self._factory["dtype"] or torch.get_default_dtype())
        return checks.real(name, value, low=limits.tiny**0.5, high=limits.max**0.5)

    def _uniform_(self, *parameters: nn.Parameter | None) -> None:
        """Fill with U(-1/√fan_in, 1/√fan_in), where Torch's own layers start weight and bias."""
        bound = self.fan_in**-0.5
        for parameter in parameters:
            if parameter is not None:
                nn.init.uniform_(parameter, -bound, bound)

    def _check_input(self, x: Any, like: Tensor, members: int | None = None) -> None:
        layer = type(self).__name__
        check_tensor(layer + ": input x", x, like)
        layer_checks.check_batch(layer, x.shape, self._example_axes(), members)

    def _check_input_shape(self, shape: Any, members: int | None = None) -> tuple[int, ...]:
        """Return the shape of an input, () for any."""
        if shape is None:
            return ()
        shape = checks.array_shape("input_shape", shape)
        layer_checks.check_batch(
            type(self).__name__, shape, self._example_axes(), members, "input_shape is"
        )
        return shape

    def _has_samples(self, x: Tensor) -> bool:
        """Whether an input has an axis S in front of that of the members."""
        return x.ndim == 2 - self.batch_axis

    def _samples_as_examples(self, x: Tensor) -> Tensor:
        """Run on (S, M, B, …) as on (M, S B, …), where nothing is drawn."""
        y = self(x.transpose(0, 1).flatten(1, 2))
        return y.unflatten(1, (x.shape[0], x.shape[2])).transpose(0, 1)

    def _check_noise(self, noise: Any, shapes: dict[str, tuple[int, ...]]) -> None:
        """Check that `noise` has just the tensors named in `shapes`, of those shapes."""
        like = next(self.parameters())
        layer_checks.check_noise(noise, shapes, lambda name, x: check_tensor(name, x, like))

    def _randn(self, generator: torch.Generator | None, *shape: int) -> Tensor:
        check_generator(generator)
        like = next(self.parameters())
        # Compilers and ONNX know randn with a generator not even where it is None.
        source = {} if generator is None else {"generator": generator}
        return torch.randn(shape, **source, device=like.device, dtype=like.dtype)

    def _repr_of_members_and_bias(self) -> str:
        size = f", ensemble_size={self.ensemble_size}" if isinstance(self, MemberLayer) else ""
        bias = getattr(self, "bias", None) is None and getattr(self, "bias_mean", None) is None
        return size + (", bias=False" if bias else "")


class MemberLayer(WeightLayer):
    """Base of the layers with members."""

    #: The name of a parameter with a row for each member.
    array_of_members: ClassVar[str]

    @property
    def ensemble_size(self) -> int:
        """Number of members M."""
        return len(getattr(self, self.array_of_members))

    @property
    def leading(self) -> tuple[int, ...]:
        """The axes that it adds in front of the batch, (M,)."""
        return (self.ensemble_size,)

    @ensemble_size.setter
    def ensemble_size(self, value: Any) -> None:
        raise AttributeError(
            f"ensemble_size follows from the shapes of the parameters, {self.ensemble_size} here, "
            f"got {value!r}; accepted is another layer of that size"
        )


class Ensemble(nn.Module):
    """A model that `ensedu.torch.ensemble` made an ensemble of, and what one may ask of it."""

    #: ``member(index, noise=None)``, one member as a plain module.
    member: Callable[..., nn.Module]

    def __init__(self, ensemble_size: int | None, samples: int | None = None) -> None:
        super().__init__()
        self._ensemble_size, self._samples = ensemble_size, samples
        #: Whether an input is (M, B, …), a batch for each member, instead of one for all.
        self.own_batches = False

    @property
    def leading(self) -> tuple[int, ...]:
        """The axes in front of the batch, (M,), (S,) or (S, M)."""
        return tuple(n for n in (self._samples, self._ensemble_size) if n is not None)

    @property
    def ensemble_size(self) -> int | None:
        """Number of members M, ``None`` for a method without."""
        return self._ensemble_size

    @ensemble_size.setter
    def ensemble_size(self, value: Any) -> None:
        more = "" if self.samples is None else ", or another number of samples"
        raise AttributeError(
            f"ensemble_size cannot be set, got {value!r}; accepted is another ensemble of the "
            f"model{more}"
        )

    @property
    def samples(self) -> int | None:
        """Number of samples S; it can be set, to any number for a method that draws.

        ``None`` where members are not sampled: the output is then (M, B, …).
        """
        return self._samples

    @samples.setter
    def samples(self, value: int | None) -> None:
        if not self.draws:
            raise ValueError(f"samples must be left out where nothing is drawn, got {value!r}")
        if value is not None or self.ensemble_size is None:
            checks.positive_int("samples", value)
        self._samples = value

    @property
    def draws(self) -> bool:
        """Whether two passes in eval mode differ, by what the ensemble itself draws."""
        return False

    def role_inside(self, path: str, role: str) -> str:
        """For `ensedu.counting`: the role of a parameter in here that would have `role` outside."""
        return role

    def _place(self, index: Any) -> tuple[int, ...]:
        """Check the index of a member, an integer or one for each leading axis."""
        numbers = index if isinstance(index, tuple) else (index,)
        if len(numbers) != len(self.leading):
            raise ValueError(
                f"index must be {'an integer' if len(self.leading) == 1 else '(sample, member)'} "
                f"for leading axes {self.leading}, got {index!r}"
            )
        for number, size in zip(numbers, self.leading, strict=True):
            if checks.natural_int("index", number) >= size:
                raise ValueError(
                    f"index must be below the leading axes {self.leading}, got {index!r}"
                )
        return tuple(int(number) for number in numbers)

    def extra_repr(self) -> str:
        return f"leading={self.leading}"


def depends_on_input(layer: Any) -> bool:
    """Whether what a layer draws has the shape of its input or of its output."""
    estimator = getattr(layer, "estimator", "weights")
    return getattr(layer, "per_example", False) or estimator != "weights"


def gpus_of(net: nn.Module) -> list[int]:
    """Return the numbers of the GPUs that a net is on."""
    return sorted({p.device.index for p in net.parameters() if p.is_cuda})


@contextmanager
def seeded(seed: int, net: nn.Module | None = None) -> Iterator[dict[str, torch.Generator]]:
    """Let Torch draw from a seed, on the CPU and on the GPUs of a net, and go on as it was before.

    Its generators are given by the names of their devices.
    """
    devices = [] if net is None else gpus_of(net)
    with torch.random.fork_rng(devices):
        generators = {"cpu": torch.default_generator}
        generators |= {f"cuda{i}": torch.cuda.default_generators[i] for i in devices}
        # Not torch.manual_seed, which seeds all devices, and those that nobody has used yet later.
        for generator in generators.values():
            generator.manual_seed(seed)
        yield generators

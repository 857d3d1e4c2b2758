"""What stands in for each module of a model in a pass, and what that pass changes."""

from contextlib import suppress
from functools import partial
from operator import is_
from typing import Any

from torch import Tensor, nn

from ensedu.torch.ensembling.model_copies import MODULE_ATTRIBUTES
from ensedu.torch.ensembling.model_specs import Change, ModelSpecs
from ensedu.torch.ensembling.module_rules import dropout_rule, refresh_flat_weights
from ensedu.torch.ensembling.one_pass import LazyParameters, OnePass
from ensedu.torch.trees import PLAIN_TYPES, map_tensors, named_tensors


class StandIns(dict[str, Any]):
    """What runs in place of each module, by its path: its code, on the values of who runs.

    A pass moves its stand-ins alone, and the net only when it is over: threads do not meet.
    """

    def __init__(self, specs: ModelSpecs, one_pass: OnePass, clones: bool) -> None:
        super().__init__(specs.copies())
        shared, own = specs.in_pass(one_pass, clones)
        values, at_once = shared | own, one_pass.vmap_level is not None
        self._specs, self._at_once = specs, at_once
        # Buffers that only the model's own code can have put elsewhere.
        self._unmoved = {} if clones else values
        for path, spec in specs.items():
            stand_in, attributes = self[path], vars(self[path])
            attributes["training"] = spec.stored.training and one_pass.updates_state
            attributes["_parameters"] = (
                LazyParameters(spec.parameters, partial(one_pass.read, path))
                if at_once and spec.is_method_layer
                else {key: values.get(name) for key, (name, _) in spec.parameters.items()}
            )
            attributes["_buffers"] = {key: values.get(name) for key, name in spec.buffers.items()}
            if at_once and (attributes["_backward_hooks"] or attributes["_backward_pre_hooks"]):
                raise RuntimeError("hooks of a backward pass, which would see none")
            if spec.rule and (at_once or spec.rule is dropout_rule):
                attributes["forward"] = partial(spec.rule, one_pass, path, stand_in)
            if isinstance(stand_in, nn.RNNBase):
                refresh_flat_weights(stand_in)
        for (path, key), differs in specs.carried.items():
            held = vars(self[path])
            held[key] = map_tensors(
                lambda _, x, own=differs: one_pass.of_member(x) if own else x, held[key], key
            )
        # What each holds before, and by which tensors its containers are known again.
        self._before = {
            path: (held.copy(), {key: _tensor_ids(held[key]) for key in specs[path].copied})
            for path, held in ((path, vars(stand_in)) for path, stand_in in self.items())
        }

    def changes(self) -> tuple[list[Change], list[tuple[str, str, Any]]]:
        """Return buffers that moved, and tensors that a pass has left on modules.

        Then what the model counts and switches: path, name and value.
        """
        changes: list[Change] = []
        plain_changes: list[Any] = []
        for path, stand_in in self.items():
            spec, (was, ids), now = self._specs[path], self._before[path], vars(stand_in)
            for key, name in spec.buffers.items():
                if (value := stand_in._buffers[key]) is not self._unmoved.get(name):
                    changes.append(Change(path, key, value, True))
            # Most modules leave nothing, and this sees it soonest.
            if ids or len(now) != len(was) or not all(map(is_, now.values(), was.values())):
                for key, value in now.items():
                    if value is was.get(key, was) and key not in ids:
                        continue
                    if key in MODULE_ATTRIBUTES or key == "_flat_weights":
                        continue
                    if isinstance(value, PLAIN_TYPES):
                        plain_changes.append((path, key, value))
                    elif (tensors := _tensor_ids(value)) and tensors != ids.get(key):
                        changes.append(Change(path, key, value, False))
            if self._at_once:  # else it holds itself, and what was formed
                now.pop("forward", None)
        return changes, plain_changes

    def released(self) -> nn.Module:
        """Return the model of the member that runs, with parameters of its own, out of the pass."""
        specs = self._specs
        for path, stand_in in self.items():
            if path in specs.dropouts:
                del stand_in.forward
            for key, (_, source) in specs[path].parameters.items():
                if source:
                    layer, kind = specs.method_arrays[source[0]], source[1]
                    like = getattr(layer, kind if hasattr(layer, kind) else f"{kind}_mean")
                    value = stand_in._parameters[key].detach().clone()
                    setattr(stand_in, key, nn.Parameter(value, like.requires_grad))
        for path, key in specs.carried:
            held = vars(self[path])
            held[key] = map_tensors(lambda _, x: x.detach(), held[key], key)
        return self[""]


def _tensor_ids(value: Any) -> tuple[int, ...]:
    """Tell apart the tensors that an attribute holds."""
    if isinstance(value, (Tensor, list, tuple, dict)):
        with suppress(TypeError):  # of what could hide some
            return tuple(id(x) for _, x in named_tensors(value))
    return ()

"""Any model becomes an ensemble; read `ensemble`, which is what you call, then in this order.

- What is made: `model_checks` refuse models, the `parameter_plan` says what has members, with
  `member_weights` in its place; a deep ensemble is `member_copies`, all others a `model_ensemble`.
- How it runs: from ``ModelEnsemble.forward`` on, at once, in turn, or as a compiler follows;
  `model_specs` know the modules and their arrays, `one_pass` who runs and what is drawn;
  `stand_ins` run in place of the modules, by `module_rules` where they do another thing then.
- `conversions`: what each method makes of a model, and what any number of members would store.

A module of the model is there more than once: *plain*, its code, with shapes alone; *stored*, in
the net, with the arrays of all members; and its *stand-in* of a pass, its code with the values of
who runs. The `method_arrays` are layers of the method, each in the place of a plain one, and what
holds the weights of members in the place of other parameters.

So an ``nn.Linear`` of a BatchEnsemble is computed in one of three ways, which tests hold to each
other: at once by the method's layer, so eq. 5, as `weight_rule` calls it; in turn, and inside of
another transform, by its own code, with the member's matrix formed; under a compiler by
`traced_linear_rule`, with the matrices of all formed.
"""

"""Any model becomes an ensemble; read `ensemble`, which is what you call, then in this order.

- What is made: `model_checks` refuse models, the `parameter_plan` says what has members, with
  `member_weights` in its place; `copies` of a model, and of these `member_copies`, a deep ensemble,
  or a `model_ensemble`, which all others are.
- How it runs: `one_pass` of all members, by `batching_rules` for what does another thing then, on
  `module_specs` of a model's modules, whose `pass_changes` stay; the `runner` of it all, the
  `hidden_axis` of members that it needs, and `traced`, where a compiler follows.
"""

"""Any model becomes an ensemble; read `ensemble`, which is what you call, then in this order.

- What is made: `model_checks` refuse models, `roles` of parameters, `arrays` in their place,
  `copies` of a model, `deep_ensemble` of whole copies, or `members`, the ensemble of all others.
- How it runs: a `run` of all members, by `batching_rules` for what does another thing then, on
  `stand_ins` for a model's modules; the `runner` of it all, the `hidden_axis` of members that it
  needs, and `traced`, where a compiler follows.
"""

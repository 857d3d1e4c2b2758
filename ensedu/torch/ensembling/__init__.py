"""Any model becomes an ensemble; read `ensemble`, which is what you call, then in this order.

- What is made: `model_checks` refuse models, the `parameter_plan` says what has members, with
  `member_weights` in its place; a deep ensemble is `member_copies`, all others a `model_ensemble`.
- How it runs: from ``ModelEnsemble.forward`` on, at once, in turn, or as a compiler follows;
  `one_pass` knows who runs and what is drawn, `stand_ins` run in place of a model's modules, by
  `module_rules` where they do another thing then.
"""

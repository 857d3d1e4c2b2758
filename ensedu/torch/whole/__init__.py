"""Any model becomes an ensemble; read `ensemble`, which is what you call, then in this order.

- What is made: `refusals` of models, `roles` of parameters, `arrays` in their place, `copies` of a
  model, `starts` of members, and `members`, the ensemble that holds all this.
- How it runs: `parts` of a model and what stands in for each, `modules` that do another thing, a
  `run` of all members, the `passes` that run it, the `hidden_axis` of members in one, `changes`
  that it leaves, and `traced`, where a compiler follows.
"""

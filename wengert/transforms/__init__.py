"""Transforms: functions of functions. `grad(f)` is the function that computes the gradient of f.

Read in this order: `calls` (what users pass in and get back), `run` (a function run on variables),
`reverse` (grad, vjp, jacrev), `forward` (jvp, jacfwd), `second` (one over the other), `modules`
(modules as functions of their parameters), `vmap`. Solvers have a folder of their own, `solvers/`,
and sparse Jacobians have `sparse/`.

A transform runs the user's function on tensors and asks `autograd`, which it imports; none knows a
rule. To add one, write it in terms of those that are there, and name it in `wengert/func.py`.
"""

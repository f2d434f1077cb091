"""Transforms: functions of functions. `grad(f)` is the function that computes the gradient of f.

Read in this order: `calls` (what users pass in and get back), `run` (a function run on variables),
`reverse` (grad, vjp, jacrev), `forward` (jvp, jacfwd), `second` (one over the other), `modules`
(modules as functions of their parameters). For solvers: `equations` (a user's equation and its
arguments), `systems` (linear systems without a matrix), `implicit`; `runge_kutta`, `trajectories`,
`ode`.
"""

"""Transforms: functions of functions. `grad(f)` is the function that computes the gradient of f.

Read in this order: `calls` (what users pass in and get back), `run` (a function run on variables),
`reverse` (grad, vjp, jacrev and what is made of them), `modules` (modules as functions of their
parameters).
"""

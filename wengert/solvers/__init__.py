"""Solutions of equations and of differential equations, as functions of their parameters.

Begin with what users call, and what has derivatives: `implicit.py` (root, fixed_point, argmin,
solve: the implicit function theorem), `ode.py` (odeint: the adjoint equation) and `events.py`
(odeint_event). Beneath them are `parameters.py` (the arguments of a call, taken apart),
`systems.py` (linear systems known by products), `runge_kutta.py` (the methods) and
`trajectories.py` (the adjoint equation); as loops of a program `looped.py` (the methods' steps),
`looped_equations.py` (the search for roots and minima) and `dense.py` (linear systems). A further
method is a table in `runge_kutta.py`. Imports transforms and control; networks know none of it.
`wengert.implicit` is another name of this folder. SciPy's solvers, which are given derivatives and
return none, are in `optimize/`; what trains a network step by step is in `optim/`.
"""

from wengert.solvers.events import odeint_event as odeint_event
from wengert.solvers.implicit import argmin as argmin
from wengert.solvers.implicit import fixed_point as fixed_point
from wengert.solvers.implicit import root as root
from wengert.solvers.implicit import solve as solve
from wengert.solvers.implicit import traceable as traceable
from wengert.solvers.ode import odeint as odeint

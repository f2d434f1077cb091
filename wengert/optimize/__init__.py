"""SciPy's minimisers and solvers, given exact derivatives: a function in, its minimum out.

SciPy works on one vector of double precision and estimates derivatives by differences unless it is
given them. Here parameters are tensors, arrays, numbers, or containers of them; derivatives come
from wengert; everything else is SciPy's, results included, and these have no history: minima that
can be differentiated are made in `solvers/`. Optimizers that train step by step are in `optim/`.

Begin with `minimum.py`; `roots.py` solves equations, `curves.py` fits them to points,
`initial_value.py` solves differential ones, `vector.py` turns parameters into the one vector and
back, and `outside.py` says what to write in a compiled function. Nothing in the package leans on
this folder.

>>> import numpy as np
>>> import wengert as wg
>>> found = wg.optimize.minimize(
...     lambda p: (p["a"] - 1) ** 2 + np.sum((p["b"] - p["a"]) ** 2), {"a": 0.0, "b": np.zeros(2)}
... )
>>> round(found.x["a"], 6), found.x["b"].round(6)
(1.0, array([1., 1.]))
"""

from wengert.optimize.curves import curve_fit as curve_fit
from wengert.optimize.initial_value import solve_ivp as solve_ivp
from wengert.optimize.minimum import minimize as minimize
from wengert.optimize.roots import least_squares as least_squares
from wengert.optimize.roots import root as root

"""`wengert.implicit`: solutions of equations and linear systems, differentiable in parameters."""

from wengert.solvers.implicit import argmin as argmin
from wengert.solvers.implicit import fixed_point as fixed_point
from wengert.solvers.implicit import root as root
from wengert.solvers.implicit import solve as solve

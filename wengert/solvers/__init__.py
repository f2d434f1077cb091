"""Solutions of equations, linear systems and differential equations, and their derivatives."""

from wengert.solvers.implicit import argmin as argmin
from wengert.solvers.implicit import fixed_point as fixed_point
from wengert.solvers.implicit import root as root
from wengert.solvers.implicit import solve as solve
from wengert.solvers.ode import odeint as odeint

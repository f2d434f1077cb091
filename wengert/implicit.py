"""`wengert.implicit`: solutions of equations and linear systems, differentiable in parameters."""

from wengert.transforms.implicit import argmin as argmin
from wengert.transforms.implicit import fixed_point as fixed_point
from wengert.transforms.implicit import root as root
from wengert.transforms.implicit import solve as solve

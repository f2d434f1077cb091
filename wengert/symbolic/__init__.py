"""Formulas of functions, and their derivatives by the table of rules."""

from wengert.symbolic.formula import Formula as Formula
from wengert.symbolic.formula import Swell as Swell
from wengert.symbolic.formula import Swelling as Swelling
from wengert.symbolic.formula import formula as formula
from wengert.symbolic.formula import swell as swell

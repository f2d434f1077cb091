"""Formulas of functions, and their derivatives by the table of rules.

Begin with `formula.py`: a function that is run on arrays of formulas (`arrays/symbolic/`) gives its
formula, and a rule that is run on formulas gives the formula of a derivative. `expressions.py`
reads formulas that users write as text; it parses them, and runs nothing in them.
"""

from wengert.symbolic.formula import Formula as Formula
from wengert.symbolic.formula import Swell as Swell
from wengert.symbolic.formula import Swelling as Swelling
from wengert.symbolic.formula import formula as formula
from wengert.symbolic.formula import swell as swell

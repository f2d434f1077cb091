"""The derivative of every function, stated once. `RULES` is the table; importing fills it.

Begin with `rule.py`, which says what a rule is and how it is read in both directions, and then with
`elementwise.py`, where `elementwise(np.tanh, lambda t, y: t * (1 - y * y))` is a whole rule. The
other files are families: shapes, reductions, products, linalg, indexing, networks. `rows`,
`blocks`, `loops` and `stacks` hold implementations for large or small arrays; `ways` says how a
function states which of them computes it when.

To add a function, state its rule and its names in the file of its family, and give `tests/rules/` a
sample: each rule is held to difference quotients, and its two directions to each other. Rules are
written with NumPy functions alone, so that they run on every kind of array; they import nothing but
`wengert.dispatch`, `dtypes` and `errors`.
"""

from wengert.rules import alignment as alignment
from wengert.rules import convolution as convolution
from wengert.rules import eigen as eigen
from wengert.rules import elementwise as elementwise
from wengert.rules import fft as fft
from wengert.rules import gates as gates
from wengert.rules import indexing as indexing
from wengert.rules import linalg as linalg
from wengert.rules import losses as losses
from wengert.rules import neural as neural
from wengert.rules import normalization as normalization
from wengert.rules import products as products
from wengert.rules import reductions as reductions
from wengert.rules import sampling as sampling
from wengert.rules import shapes as shapes
from wengert.rules import special as special
from wengert.rules.rule import RULES as RULES
from wengert.rules.rule import Rule as Rule

"""The derivative of every function, stated once. `RULES` is the table; importing fills it."""

from wengert.rules import convolution as convolution
from wengert.rules import eigen as eigen
from wengert.rules import elementwise as elementwise
from wengert.rules import fft as fft
from wengert.rules import indexing as indexing
from wengert.rules import linalg as linalg
from wengert.rules import neural as neural
from wengert.rules import normalization as normalization
from wengert.rules import products as products
from wengert.rules import reductions as reductions
from wengert.rules import shapes as shapes
from wengert.rules import special as special
from wengert.rules.rule import RULES as RULES
from wengert.rules.rule import Rule as Rule

"""SciPy's names, differentiable: `import wengert.scipy.linalg as sla`, and so on.

SciPy's functions make NumPy arrays of what they are given, which would lose the derivative. Each
module here has all names of the module of SciPy's that it is called like. Those that are written
here take tensors, and for plain arrays are SciPy's own; the others are SciPy's own. Where these are
written for arrays of any kind, they compute with tensors, too; where they are not, they say so. The
ufuncs of `scipy.special` need none of this: they ask tensors what they mean.

Read `meaning.py` first; the modules are lists of definitions.

>>> import numpy as np
>>> import wengert as wg
>>> import wengert.scipy.stats as stats
>>> wg.grad(lambda mean: np.sum(stats.norm.logpdf(np.array([1.0, 2.0, 6.0]), mean)))(2.0)
3.0
"""

from wengert.scipy import fft as fft
from wengert.scipy import integrate as integrate
from wengert.scipy import interpolate as interpolate
from wengert.scipy import linalg as linalg
from wengert.scipy import ndimage as ndimage
from wengert.scipy import signal as signal
from wengert.scipy import sparse as sparse
from wengert.scipy import spatial as spatial
from wengert.scipy import special as special
from wengert.scipy import stats as stats

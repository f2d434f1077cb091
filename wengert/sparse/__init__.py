"""Sparse tensors, as `torch.sparse` has them; sparse Jacobians and Hessians.

Begin with `tensors.py`, whose products are in `products.py`, or with `derivatives.py`: which
entries of a Jacobian are zero, and how few products give the others. `sparsity.py` finds the
pattern, by running the function on numbers that know where they came from (`arrays/dependent/`),
and `colouring.py` the columns and rows that one product can give together. It stands on
`transforms/` and `autograd/`.
"""

from wengert.imports import lacking as _lacking
from wengert.sparse.tensors import ByteTensor as ByteTensor
from wengert.sparse.tensors import CharTensor as CharTensor
from wengert.sparse.tensors import DoubleTensor as DoubleTensor
from wengert.sparse.tensors import FloatTensor as FloatTensor
from wengert.sparse.tensors import HalfTensor as HalfTensor
from wengert.sparse.tensors import IntTensor as IntTensor
from wengert.sparse.tensors import LongTensor as LongTensor
from wengert.sparse.tensors import ShortTensor as ShortTensor
from wengert.sparse.tensors import addmm as addmm
from wengert.sparse.tensors import log_softmax as log_softmax
from wengert.sparse.tensors import mm as mm
from wengert.sparse.tensors import softmax as softmax
from wengert.sparse.tensors import sum as sum

_lacking(__name__)

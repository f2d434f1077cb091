"""`scipy.fft` on tensors: Fourier transforms are NumPy's, sine and cosine transforms are matrices.

>>> import numpy as np
>>> import wengert as wg
>>> wg.grad(lambda x: dct(x)[0])(np.array([1.0, 2.0, 3.0]))
array([2., 2., 2.])
"""

from __future__ import annotations

from wengert.scipy.meaning import linear, otherwise

dct, idct = linear("fft", "dct", "x"), linear("fft", "idct", "x")
dst, idst = linear("fft", "dst", "x"), linear("fft", "idst", "x")

__getattr__ = otherwise("fft")

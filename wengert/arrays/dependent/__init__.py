"""Numbers that know which inputs they came from: the pattern of a sparse Jacobian.

Importing this says what functions mean on them.
"""

from wengert.arrays.dependent import functions as functions

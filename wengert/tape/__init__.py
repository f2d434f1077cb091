"""The gradient tape: reverse mode as TensorFlow puts it.

A tape records what is computed inside its `with` block, and gives the gradients of a target by
sources afterwards:

>>> import wengert.tape as tf
>>> x = tf.Variable(3.0)
>>> with tf.GradientTape() as tape:
...     y = x * x
>>> tape.gradient(y, x)
tensor(6.)

Here are the tape, variables, optimizers, and as many of TensorFlow's names as a small training
program needs, so that it runs with `import wengert.tape as tf`. Tensors are wengert's: every
function of `wengert` and NumPy works on them, and is recorded. Begin with `gradient_tape.py`.
Nothing in the package leans on this folder.
"""

from wengert.dtypes import bool as bool
from wengert.dtypes import complex64 as complex64
from wengert.dtypes import complex128 as complex128
from wengert.dtypes import float16 as float16
from wengert.dtypes import float32 as float32
from wengert.dtypes import float64 as float64
from wengert.dtypes import int32 as int32
from wengert.dtypes import int64 as int64
from wengert.tape import keras as keras
from wengert.tape import math as math
from wengert.tape import optimizers as optimizers
from wengert.tape.gradient_tape import GradientTape as GradientTape
from wengert.tape.gradient_tape import UnconnectedGradients as UnconnectedGradients
from wengert.tape.math import abs as abs
from wengert.tape.math import add as add
from wengert.tape.math import cast as cast
from wengert.tape.math import concat as concat
from wengert.tape.math import constant as constant
from wengert.tape.math import convert_to_tensor as convert_to_tensor
from wengert.tape.math import cos as cos
from wengert.tape.math import divide as divide
from wengert.tape.math import exp as exp
from wengert.tape.math import identity as identity
from wengert.tape.math import matmul as matmul
from wengert.tape.math import maximum as maximum
from wengert.tape.math import minimum as minimum
from wengert.tape.math import multiply as multiply
from wengert.tape.math import negative as negative
from wengert.tape.math import ones as ones
from wengert.tape.math import ones_like as ones_like
from wengert.tape.math import pow as pow
from wengert.tape.math import reduce_max as reduce_max
from wengert.tape.math import reduce_mean as reduce_mean
from wengert.tape.math import reduce_min as reduce_min
from wengert.tape.math import reduce_prod as reduce_prod
from wengert.tape.math import reduce_sum as reduce_sum
from wengert.tape.math import reshape as reshape
from wengert.tape.math import sigmoid as sigmoid
from wengert.tape.math import sin as sin
from wengert.tape.math import sqrt as sqrt
from wengert.tape.math import square as square
from wengert.tape.math import stack as stack
from wengert.tape.math import stop_gradient as stop_gradient
from wengert.tape.math import subtract as subtract
from wengert.tape.math import tan as tan
from wengert.tape.math import tanh as tanh
from wengert.tape.math import transpose as transpose
from wengert.tape.math import zeros as zeros
from wengert.tape.math import zeros_like as zeros_like
from wengert.tape.variables import EagerTensor as EagerTensor
from wengert.tape.variables import Variable as Variable

Tensor = EagerTensor

"""wengert"""
from wengert import rules as rules
from wengert.tensor import Tensor as Tensor
from wengert.functions import numpy as _n
from wengert.functions import operators as _o
from wengert.autograd import methods as _m
from wengert.functions.creation import *
from wengert.history.modes import *

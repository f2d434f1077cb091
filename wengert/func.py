"""Functions of functions, as `torch.func` has them: gradients, Jacobians, batching."""

from wengert.imports import lacking as _lacking
from wengert.sparse.derivatives import sparse_hessian as sparse_hessian
from wengert.sparse.derivatives import sparse_jacobian as sparse_jacobian
from wengert.transforms.constant import stop_gradient as stop_gradient
from wengert.transforms.forward import jacfwd as jacfwd
from wengert.transforms.forward import jvp as jvp
from wengert.transforms.forward import linearize as linearize
from wengert.transforms.modules import functional_call as functional_call
from wengert.transforms.modules import (
    replace_all_batch_norm_modules_ as replace_all_batch_norm_modules_,
)
from wengert.transforms.modules import stack_module_state as stack_module_state
from wengert.transforms.reverse import grad as grad
from wengert.transforms.reverse import grad_and_value as grad_and_value
from wengert.transforms.reverse import jacrev as jacrev
from wengert.transforms.reverse import value_and_grad as value_and_grad
from wengert.transforms.reverse import vjp as vjp
from wengert.transforms.second import hessian as hessian
from wengert.transforms.second import hvp as hvp
from wengert.transforms.second import jacobian as jacobian
from wengert.transforms.second import vhp as vhp
from wengert.transforms.vmap import vmap as vmap

_lacking(__name__)

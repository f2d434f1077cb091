"""`wengert.func`: functions of functions, under the names of `torch.func`."""

from wengert.transforms.modules import functional_call as functional_call
from wengert.transforms.modules import stack_module_state as stack_module_state
from wengert.transforms.reverse import grad as grad
from wengert.transforms.reverse import grad_and_value as grad_and_value
from wengert.transforms.reverse import hessian as hessian
from wengert.transforms.reverse import hvp as hvp
from wengert.transforms.reverse import jacobian as jacobian
from wengert.transforms.reverse import jacrev as jacrev
from wengert.transforms.reverse import value_and_grad as value_and_grad
from wengert.transforms.reverse import vhp as vhp
from wengert.transforms.reverse import vjp as vjp
from wengert.transforms.vmap import vmap as vmap

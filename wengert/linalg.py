"""Linear algebra, as `torch.linalg` has it: over batches, in front of the matrices.

NumPy's own functions work on tensors as well: `np.linalg.solve(a, b)` is recorded.

Where derivatives need care:

- Functions of symmetric matrices (`cholesky`, `eigh`, `eigvalsh`) read one triangle; their
  gradients are symmetric, as if both triangles moved together.
- The vectors of `eigh`, `eig` and `svd` have no derivative where two values are equal: it is
  infinite or NaN. What depends on the values alone has one there.
- Complex vectors are determined up to a phase. A loss that depends on it raises `GradError` in the
  backward pass.
- `det` has its first and second derivatives at singular matrices too. `inv`, `solve` and
  `slogdet` have none there: `LinAlgError`.
- `pinv` and `lstsq` are differentiable where the rank is constant.

>>> import wengert as wg
>>> A = wg.tensor([[2.0, 0.0], [0.0, 4.0]], requires_grad=True)
>>> wg.linalg.slogdet(A).logabsdet.backward()
>>> A.grad  # the transposed inverse
tensor([[0.5000, 0.0000],
        [0.0000, 0.2500]])
"""

from wengert.errors import LinAlgError as LinAlgError
from wengert.functions.decompositions import cholesky as cholesky
from wengert.functions.decompositions import cholesky_ex as cholesky_ex
from wengert.functions.decompositions import eig as eig
from wengert.functions.decompositions import eigh as eigh
from wengert.functions.decompositions import eigvals as eigvals
from wengert.functions.decompositions import eigvalsh as eigvalsh
from wengert.functions.decompositions import householder_product as householder_product
from wengert.functions.decompositions import ldl_factor as ldl_factor
from wengert.functions.decompositions import ldl_factor_ex as ldl_factor_ex
from wengert.functions.decompositions import ldl_solve as ldl_solve
from wengert.functions.decompositions import lu as lu
from wengert.functions.decompositions import lu_factor as lu_factor
from wengert.functions.decompositions import lu_factor_ex as lu_factor_ex
from wengert.functions.decompositions import lu_solve as lu_solve
from wengert.functions.decompositions import qr as qr
from wengert.functions.decompositions import svd as svd
from wengert.functions.decompositions import svdvals as svdvals
from wengert.functions.linalg import cond as cond
from wengert.functions.linalg import cross as cross
from wengert.functions.linalg import det as det
from wengert.functions.linalg import diagonal as diagonal
from wengert.functions.linalg import inv as inv
from wengert.functions.linalg import inv_ex as inv_ex
from wengert.functions.linalg import lstsq as lstsq
from wengert.functions.linalg import matrix_exp as matrix_exp
from wengert.functions.linalg import matrix_norm as matrix_norm
from wengert.functions.linalg import matrix_power as matrix_power
from wengert.functions.linalg import matrix_rank as matrix_rank
from wengert.functions.linalg import multi_dot as multi_dot
from wengert.functions.linalg import norm as norm
from wengert.functions.linalg import pinv as pinv
from wengert.functions.linalg import slogdet as slogdet
from wengert.functions.linalg import solve as solve
from wengert.functions.linalg import solve_ex as solve_ex
from wengert.functions.linalg import solve_triangular as solve_triangular
from wengert.functions.linalg import tensorinv as tensorinv
from wengert.functions.linalg import tensorsolve as tensorsolve
from wengert.functions.linalg import vander as vander
from wengert.functions.linalg import vecdot as vecdot
from wengert.functions.linalg import vector_norm as vector_norm
from wengert.functions.products import matmul as matmul

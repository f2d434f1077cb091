"""Mixed precision, as `torch.amp` has it, as far as that has a meaning on a CPU.

On GPUs `autocast` makes products faster by rounding their factors to 16 bits. NumPy's products of
16-bit numbers are slower than those of 32 bits, by far; so here a region of `autocast` computes in
the dtypes it is given, more exactly than asked for, and says so once.
"""

from wengert.pytorch.amp.autocast import autocast as autocast
from wengert.pytorch.amp.autocast import custom_bwd as custom_bwd
from wengert.pytorch.amp.autocast import custom_fwd as custom_fwd
from wengert.pytorch.amp.autocast import get_autocast_dtype as get_autocast_dtype
from wengert.pytorch.amp.autocast import is_autocast_available as is_autocast_available
from wengert.pytorch.amp.autocast import is_autocast_enabled as is_autocast_enabled
from wengert.pytorch.amp.grad_scaler import GradScaler as GradScaler

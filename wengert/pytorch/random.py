"""Random numbers, as `torch.random` has them; the samplers are in the package itself."""

from wengert.functions.random import default_generator as default_generator
from wengert.functions.random import fork_rng as fork_rng
from wengert.functions.random import get_rng_state as get_rng_state
from wengert.functions.random import initial_seed as initial_seed
from wengert.functions.random import manual_seed as manual_seed
from wengert.functions.random import seed as seed
from wengert.functions.random import set_rng_state as set_rng_state
from wengert.imports import lacking as _lacking

_lacking(__name__)

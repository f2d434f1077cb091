"""Files of tensors, here and as PyTorch writes them.

Begin with `archive.py`: `save` and `load`. `torch_files.py` reads what `torch.save` wrote and runs
nothing in it, `torch_writer.py` writes what `torch.load` reads; `objects.py` says of which classes
files may hold instances.
"""

from wengert.imports import lacking as _lacking
from wengert.serialization.archive import load as load
from wengert.serialization.archive import save as save
from wengert.serialization.objects import add_safe_globals as add_safe_globals
from wengert.serialization.objects import clear_safe_globals as clear_safe_globals
from wengert.serialization.objects import get_safe_globals as get_safe_globals
from wengert.serialization.objects import safe_globals as safe_globals

_lacking(__name__)

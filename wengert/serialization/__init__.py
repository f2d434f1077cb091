"""Files of tensors, here and as PyTorch writes them; and files written whole or not at all.

Begin with `archive.py`: `save` and `load`. `torch_files.py` reads what `torch.save` wrote and runs
nothing in it; `files.py` replaces a file in one step, so that a crash leaves the old one.
"""

from wengert.serialization.archive import load as load
from wengert.serialization.archive import save as save

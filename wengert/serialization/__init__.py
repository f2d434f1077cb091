"""Files of tensors, here and as PyTorch writes them; and files written whole or not at all."""

from wengert.serialization.archive import load as load
from wengert.serialization.archive import save as save

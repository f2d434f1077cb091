"""`utils`: data sets and loaders, and checkpoints."""

from wengert.utils import checkpoint as checkpoint
from wengert.utils import data as data

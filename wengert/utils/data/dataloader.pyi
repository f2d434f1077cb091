"""`wengert.utils.data.loader` by PyTorch's name, to type checkers: see `stubs.py`."""

from wengert.utils.data.loader import DataLoader as DataLoader
from wengert.utils.data.loader import Fetcher as Fetcher
from wengert.utils.data.loader import default_collate as default_collate
from wengert.utils.data.loader import default_convert as default_convert

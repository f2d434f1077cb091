"""DLPack, by which libraries lend each other their arrays' memory."""

from wengert.functions.creation import from_dlpack as from_dlpack
from wengert.functions.creation import to_dlpack as to_dlpack
from wengert.imports import lacking as _lacking

_lacking(__name__)

"""Signal processing, under PyTorch's names: `wengert.signal.windows`."""

from wengert.signal import windows as windows

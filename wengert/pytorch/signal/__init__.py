"""Signal processing, as `torch.signal` has it: windows."""

from wengert.pytorch.signal import windows as windows

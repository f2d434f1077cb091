"""What programs ask `torch.backends`, and set there, about the libraries underneath.

Of those only a BLAS is underneath wengert. Switches can be set, and read back, and change nothing:
they choose among GPU kernels.
"""

from wengert.imports import lacking as _lacking
from wengert.pytorch.backends import cuda as cuda
from wengert.pytorch.backends import cudnn as cudnn
from wengert.pytorch.backends import mkl as mkl
from wengert.pytorch.backends import mkldnn as mkldnn
from wengert.pytorch.backends import mps as mps
from wengert.pytorch.backends import openmp as openmp


class cpu:
    """What is known about the processor."""

    @staticmethod
    def get_cpu_capability() -> str:
        """The widest vectors the compiler may use: "AVX512", "AVX2" or "DEFAULT"."""
        from llvmlite import binding

        features = binding.get_host_cpu_features()
        if features.get("avx512f"):
            return "AVX512"
        return "AVX2" if features.get("avx2") else "DEFAULT"


_lacking(__name__)

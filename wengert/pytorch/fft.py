"""Discrete Fourier transforms, as `torch.fft` has them.

>>> import wengert as wg
>>> x = wg.tensor([1.0, 2.0, 3.0, 4.0], requires_grad=True)
>>> wg.fft.rfft(x)[1].abs().backward()
>>> x.grad
tensor([-0.7071, -0.7071,  0.7071,  0.7071])
"""

from wengert.functions.fft import fft as fft
from wengert.functions.fft import fft2 as fft2
from wengert.functions.fft import fftfreq as fftfreq
from wengert.functions.fft import fftn as fftn
from wengert.functions.fft import fftshift as fftshift
from wengert.functions.fft import hfft as hfft
from wengert.functions.fft import hfft2 as hfft2
from wengert.functions.fft import hfftn as hfftn
from wengert.functions.fft import ifft as ifft
from wengert.functions.fft import ifft2 as ifft2
from wengert.functions.fft import ifftn as ifftn
from wengert.functions.fft import ifftshift as ifftshift
from wengert.functions.fft import ihfft as ihfft
from wengert.functions.fft import ihfft2 as ihfft2
from wengert.functions.fft import ihfftn as ihfftn
from wengert.functions.fft import irfft as irfft
from wengert.functions.fft import irfft2 as irfft2
from wengert.functions.fft import irfftn as irfftn
from wengert.functions.fft import rfft as rfft
from wengert.functions.fft import rfft2 as rfft2
from wengert.functions.fft import rfftfreq as rfftfreq
from wengert.functions.fft import rfftn as rfftn

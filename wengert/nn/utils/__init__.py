"""`nn.utils`: gradients clipped, parameters as one vector, reparametrized, pruned, fused.

Begin with `parametrize.py`: a parameter that is computed from others whenever it is read;
`parametrizations.py` has ready-made ones. `hooked.py` and `prune.py` do this in the older way, by
hooks before each forward pass. The other files are functions of parameters or of whole modules,
and know nothing of each other. To add one, write it beside those of its subject, and name it here.

Imports modules and functions; of the layers, recurrent ones lean on `rnn.py`.
"""

from wengert.nn.utils import parametrizations as parametrizations
from wengert.nn.utils import parametrize as parametrize
from wengert.nn.utils import prune as prune
from wengert.nn.utils import rnn as rnn
from wengert.nn.utils import stateless as stateless
from wengert.nn.utils.clip_grad import clip_grad_norm as clip_grad_norm
from wengert.nn.utils.clip_grad import clip_grad_norm_ as clip_grad_norm_
from wengert.nn.utils.clip_grad import clip_grad_value_ as clip_grad_value_
from wengert.nn.utils.clip_grad import clip_grads_with_norm_ as clip_grads_with_norm_
from wengert.nn.utils.clip_grad import get_total_norm as get_total_norm
from wengert.nn.utils.convert_parameters import parameters_to_vector as parameters_to_vector
from wengert.nn.utils.convert_parameters import vector_to_parameters as vector_to_parameters
from wengert.nn.utils.fusion import fuse_conv_bn_eval as fuse_conv_bn_eval
from wengert.nn.utils.fusion import fuse_conv_bn_weights as fuse_conv_bn_weights
from wengert.nn.utils.fusion import fuse_linear_bn_eval as fuse_linear_bn_eval
from wengert.nn.utils.fusion import fuse_linear_bn_weights as fuse_linear_bn_weights
from wengert.nn.utils.hooked import remove_spectral_norm as remove_spectral_norm
from wengert.nn.utils.hooked import remove_weight_norm as remove_weight_norm
from wengert.nn.utils.hooked import spectral_norm as spectral_norm
from wengert.nn.utils.hooked import weight_norm as weight_norm
from wengert.nn.utils.making import (
    convert_conv2d_weight_memory_format as convert_conv2d_weight_memory_format,
)
from wengert.nn.utils.making import (
    convert_conv3d_weight_memory_format as convert_conv3d_weight_memory_format,
)
from wengert.nn.utils.making import skip_init as skip_init

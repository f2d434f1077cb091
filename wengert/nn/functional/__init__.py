"""Networks' functions, as `torch.nn.functional` has them: names, arguments and defaults.

One file for each subject; begin with `activations.py`, and `shared.py` for what they have in
common. Functions are composed of NumPy's, or of primitives in `rules/` (`neural.py`, `losses.py`,
`convolution.py`, `normalization.py`) where numerics or speed ask for one. To add one, write it
where its subject is, and name it here; its layer, if it has one, is a class of some lines in
`nn/layers/`.

Imports functions, autograd and rules, and no modules: layers stand on this.
"""

from wengert.functions.elementary import relu_ as relu_
from wengert.nn.functional.activations import celu as celu
from wengert.nn.functional.activations import celu_ as celu_
from wengert.nn.functional.activations import elu as elu
from wengert.nn.functional.activations import elu_ as elu_
from wengert.nn.functional.activations import gelu as gelu
from wengert.nn.functional.activations import glu as glu
from wengert.nn.functional.activations import gumbel_softmax as gumbel_softmax
from wengert.nn.functional.activations import hardshrink as hardshrink
from wengert.nn.functional.activations import hardsigmoid as hardsigmoid
from wengert.nn.functional.activations import hardswish as hardswish
from wengert.nn.functional.activations import hardtanh as hardtanh
from wengert.nn.functional.activations import hardtanh_ as hardtanh_
from wengert.nn.functional.activations import leaky_relu as leaky_relu
from wengert.nn.functional.activations import leaky_relu_ as leaky_relu_
from wengert.nn.functional.activations import log_softmax as log_softmax
from wengert.nn.functional.activations import logsigmoid as logsigmoid
from wengert.nn.functional.activations import mish as mish
from wengert.nn.functional.activations import prelu as prelu
from wengert.nn.functional.activations import relu as relu
from wengert.nn.functional.activations import relu6 as relu6
from wengert.nn.functional.activations import rrelu as rrelu
from wengert.nn.functional.activations import rrelu_ as rrelu_
from wengert.nn.functional.activations import selu as selu
from wengert.nn.functional.activations import selu_ as selu_
from wengert.nn.functional.activations import sigmoid as sigmoid
from wengert.nn.functional.activations import silu as silu
from wengert.nn.functional.activations import softmax as softmax
from wengert.nn.functional.activations import softmin as softmin
from wengert.nn.functional.activations import softplus as softplus
from wengert.nn.functional.activations import softshrink as softshrink
from wengert.nn.functional.activations import softsign as softsign
from wengert.nn.functional.activations import tanh as tanh
from wengert.nn.functional.activations import tanhshrink as tanhshrink
from wengert.nn.functional.activations import threshold as threshold
from wengert.nn.functional.activations import threshold_ as threshold_
from wengert.nn.functional.attention import (
    multi_head_attention_forward as multi_head_attention_forward,
)
from wengert.nn.functional.attention import (
    scaled_dot_product_attention as scaled_dot_product_attention,
)
from wengert.nn.functional.grids import affine_grid as affine_grid
from wengert.nn.functional.grids import grid_sample as grid_sample
from wengert.nn.functional.images import channel_shuffle as channel_shuffle
from wengert.nn.functional.images import interpolate as interpolate
from wengert.nn.functional.images import native_channel_shuffle as native_channel_shuffle
from wengert.nn.functional.images import pad as pad
from wengert.nn.functional.images import pixel_shuffle as pixel_shuffle
from wengert.nn.functional.images import pixel_unshuffle as pixel_unshuffle
from wengert.nn.functional.images import upsample as upsample
from wengert.nn.functional.images import upsample_bilinear as upsample_bilinear
from wengert.nn.functional.images import upsample_nearest as upsample_nearest
from wengert.nn.functional.losses import binary_cross_entropy as binary_cross_entropy
from wengert.nn.functional.losses import (
    binary_cross_entropy_with_logits as binary_cross_entropy_with_logits,
)
from wengert.nn.functional.losses import cosine_embedding_loss as cosine_embedding_loss
from wengert.nn.functional.losses import cosine_similarity as cosine_similarity
from wengert.nn.functional.losses import cross_entropy as cross_entropy
from wengert.nn.functional.losses import gaussian_nll_loss as gaussian_nll_loss
from wengert.nn.functional.losses import hinge_embedding_loss as hinge_embedding_loss
from wengert.nn.functional.losses import huber_loss as huber_loss
from wengert.nn.functional.losses import kl_div as kl_div
from wengert.nn.functional.losses import l1_loss as l1_loss
from wengert.nn.functional.losses import margin_ranking_loss as margin_ranking_loss
from wengert.nn.functional.losses import mse_loss as mse_loss
from wengert.nn.functional.losses import multi_margin_loss as multi_margin_loss
from wengert.nn.functional.losses import multilabel_margin_loss as multilabel_margin_loss
from wengert.nn.functional.losses import multilabel_soft_margin_loss as multilabel_soft_margin_loss
from wengert.nn.functional.losses import nll_loss as nll_loss
from wengert.nn.functional.losses import pairwise_distance as pairwise_distance
from wengert.nn.functional.losses import pdist as pdist
from wengert.nn.functional.losses import poisson_nll_loss as poisson_nll_loss
from wengert.nn.functional.losses import smooth_l1_loss as smooth_l1_loss
from wengert.nn.functional.losses import soft_margin_loss as soft_margin_loss
from wengert.nn.functional.losses import triplet_margin_loss as triplet_margin_loss
from wengert.nn.functional.losses import (
    triplet_margin_with_distance_loss as triplet_margin_with_distance_loss,
)
from wengert.nn.functional.normalization import alpha_dropout as alpha_dropout
from wengert.nn.functional.normalization import batch_norm as batch_norm
from wengert.nn.functional.normalization import dropout as dropout
from wengert.nn.functional.normalization import dropout1d as dropout1d
from wengert.nn.functional.normalization import dropout2d as dropout2d
from wengert.nn.functional.normalization import dropout3d as dropout3d
from wengert.nn.functional.normalization import feature_alpha_dropout as feature_alpha_dropout
from wengert.nn.functional.normalization import group_norm as group_norm
from wengert.nn.functional.normalization import instance_norm as instance_norm
from wengert.nn.functional.normalization import layer_norm as layer_norm
from wengert.nn.functional.normalization import local_response_norm as local_response_norm
from wengert.nn.functional.normalization import normalize as normalize
from wengert.nn.functional.normalization import rms_norm as rms_norm
from wengert.nn.functional.other import ScalingType as ScalingType
from wengert.nn.functional.other import SwizzleType as SwizzleType
from wengert.nn.functional.other import assert_int_or_pair as assert_int_or_pair
from wengert.nn.functional.other import conv_tbc as conv_tbc
from wengert.nn.functional.other import embedding as embedding
from wengert.nn.functional.other import embedding_bag as embedding_bag
from wengert.nn.functional.other import grouped_mm as grouped_mm
from wengert.nn.functional.other import one_hot as one_hot
from wengert.nn.functional.other import scaled_grouped_mm as scaled_grouped_mm
from wengert.nn.functional.other import scaled_mm as scaled_mm
from wengert.nn.functional.pools import (
    adaptive_max_pool1d_with_indices as adaptive_max_pool1d_with_indices,
)
from wengert.nn.functional.pools import (
    adaptive_max_pool2d_with_indices as adaptive_max_pool2d_with_indices,
)
from wengert.nn.functional.pools import (
    adaptive_max_pool3d_with_indices as adaptive_max_pool3d_with_indices,
)
from wengert.nn.functional.pools import fractional_max_pool2d as fractional_max_pool2d
from wengert.nn.functional.pools import (
    fractional_max_pool2d_with_indices as fractional_max_pool2d_with_indices,
)
from wengert.nn.functional.pools import fractional_max_pool3d as fractional_max_pool3d
from wengert.nn.functional.pools import (
    fractional_max_pool3d_with_indices as fractional_max_pool3d_with_indices,
)
from wengert.nn.functional.pools import max_pool1d_with_indices as max_pool1d_with_indices
from wengert.nn.functional.pools import max_pool2d_with_indices as max_pool2d_with_indices
from wengert.nn.functional.pools import max_pool3d_with_indices as max_pool3d_with_indices
from wengert.nn.functional.pools import max_unpool1d as max_unpool1d
from wengert.nn.functional.pools import max_unpool2d as max_unpool2d
from wengert.nn.functional.pools import max_unpool3d as max_unpool3d
from wengert.nn.functional.sequences import ctc_loss as ctc_loss
from wengert.nn.functional.sequences import linear_cross_entropy as linear_cross_entropy
from wengert.nn.functional.windows import adaptive_avg_pool1d as adaptive_avg_pool1d
from wengert.nn.functional.windows import adaptive_avg_pool2d as adaptive_avg_pool2d
from wengert.nn.functional.windows import adaptive_avg_pool3d as adaptive_avg_pool3d
from wengert.nn.functional.windows import adaptive_max_pool1d as adaptive_max_pool1d
from wengert.nn.functional.windows import adaptive_max_pool2d as adaptive_max_pool2d
from wengert.nn.functional.windows import adaptive_max_pool3d as adaptive_max_pool3d
from wengert.nn.functional.windows import avg_pool1d as avg_pool1d
from wengert.nn.functional.windows import avg_pool2d as avg_pool2d
from wengert.nn.functional.windows import avg_pool3d as avg_pool3d
from wengert.nn.functional.windows import bilinear as bilinear
from wengert.nn.functional.windows import conv1d as conv1d
from wengert.nn.functional.windows import conv2d as conv2d
from wengert.nn.functional.windows import conv3d as conv3d
from wengert.nn.functional.windows import conv_transpose1d as conv_transpose1d
from wengert.nn.functional.windows import conv_transpose2d as conv_transpose2d
from wengert.nn.functional.windows import conv_transpose3d as conv_transpose3d
from wengert.nn.functional.windows import fold as fold
from wengert.nn.functional.windows import linear as linear
from wengert.nn.functional.windows import lp_pool1d as lp_pool1d
from wengert.nn.functional.windows import lp_pool2d as lp_pool2d
from wengert.nn.functional.windows import lp_pool3d as lp_pool3d
from wengert.nn.functional.windows import max_pool1d as max_pool1d
from wengert.nn.functional.windows import max_pool2d as max_pool2d
from wengert.nn.functional.windows import max_pool3d as max_pool3d
from wengert.nn.functional.windows import unfold as unfold

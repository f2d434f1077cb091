"""The Transformer of "Attention Is All You Need" (Vaswani et al., 2017), and its layers."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from wengert import dtypes
from wengert.nn import functional as F
from wengert.nn import init
from wengert.nn.containers import ModuleList
from wengert.nn.layers.attention import MultiheadAttention
from wengert.nn.layers.linear import Linear
from wengert.nn.layers.normalization import Dropout, LayerNorm
from wengert.nn.module import Module
from wengert.tensor import Tensor, wrap

Activation = str | Callable[[Tensor], Tensor]


def _activation(activation: Activation) -> Callable[[Tensor], Tensor]:
    if not isinstance(activation, str):
        return activation
    if activation not in ("relu", "gelu"):
        raise RuntimeError(f"activation should be relu/gelu, not {activation}")
    return F.relu if activation == "relu" else F.gelu


def _copies(module: Module, n: int) -> ModuleList:
    return ModuleList([copy.deepcopy(module) for _ in range(n)])


class _Layer(Module):
    """The two steps that encoder and decoder layers share: attention to itself, and features."""

    _attentions: ClassVar[tuple[str, ...]]
    self_attn: MultiheadAttention

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: Activation = F.relu,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        place = {"device": device, "dtype": dtype}
        for name in self._attentions:
            attention = MultiheadAttention(
                d_model, nhead, dropout, bias, batch_first=batch_first, **place
            )
            setattr(self, name, attention)
        self.linear1 = Linear(d_model, dim_feedforward, bias, **place)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, bias, **place)
        self.norm_first = norm_first
        steps = range(1, len(self._attentions) + 2)
        for k in steps:
            setattr(self, f"norm{k}", LayerNorm(d_model, layer_norm_eps, bias=bias, **place))
        for k in steps:
            setattr(self, f"dropout{k}", Dropout(dropout))
        self.activation = _activation(activation)

    def _features(self, x: Tensor, drop: Module) -> Tensor:
        return drop(self.linear2(self.dropout(self.activation(self.linear1(x)))))

    def _added(self, x: Tensor, norm: Module, step: Callable[[Tensor], Tensor]) -> Tensor:
        """x + step(norm(x)), or norm(x + step(x))."""
        return x + step(norm(x)) if self.norm_first else norm(x + step(x))

    def _mixed(self, x: Tensor, mask: Tensor | None, padding: Tensor | None, causal: bool) -> Any:
        """The attention of a sequence to itself, added."""

        def attend(x: Tensor) -> Tensor:
            attended, _ = self.self_attn(x, x, x, padding, False, mask, is_causal=causal)
            return self.dropout1(attended)

        return self._added(x, self.norm1, attend)


class TransformerEncoderLayer(_Layer):
    """Attention of a sequence to itself, then a network for each position, each with a residue.

    >>> import wengert as wg
    >>> layer = TransformerEncoderLayer(8, 2, batch_first=True)
    >>> layer(wg.zeros(2, 5, 8)).shape
    torch.Size([2, 5, 8])
    """

    _attentions = ("self_attn",)

    def forward(
        self,
        src: Tensor,
        src_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        is_causal: bool = False,
    ) -> Tensor:
        x = self._mixed(src, src_mask, src_key_padding_mask, is_causal)
        return self._added(x, self.norm2, lambda x: self._features(x, self.dropout2))


class TransformerDecoderLayer(_Layer):
    """An encoder layer with attention to another sequence, `memory`, in between.

    >>> import wengert as wg
    >>> layer = TransformerDecoderLayer(8, 2, batch_first=True)
    >>> layer(wg.zeros(2, 5, 8), wg.zeros(2, 7, 8)).shape
    torch.Size([2, 5, 8])
    """

    _attentions = ("self_attn", "multihead_attn")

    def forward(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        tgt_is_causal: bool = False,
        memory_is_causal: bool = False,
    ) -> Tensor:
        def to_memory(x: Tensor) -> Tensor:
            attended, _ = self.multihead_attn(
                x, memory, memory, memory_key_padding_mask, False, memory_mask,
                is_causal=memory_is_causal,
            )  # fmt: skip
            return self.dropout2(attended)

        x = self._mixed(tgt, tgt_mask, tgt_key_padding_mask, tgt_is_causal)
        x = self._added(x, self.norm2, to_memory)
        return self._added(x, self.norm3, lambda x: self._features(x, self.dropout3))


class TransformerEncoder(Module):
    """Encoder layers one after the other, then `norm`.

    `enable_nested_tensor` and `mask_check` are about a way of computing that PyTorch alone has;
    the result does not depend on them.
    """

    norm: Module | None

    def __init__(
        self,
        encoder_layer: Module,
        num_layers: int,
        norm: Module | None = None,
        enable_nested_tensor: bool = True,
        mask_check: bool = True,
    ) -> None:
        super().__init__()
        self.layers = _copies(encoder_layer, num_layers)
        self.num_layers = num_layers
        self.norm = norm
        self.enable_nested_tensor = enable_nested_tensor
        self.mask_check = mask_check

    def forward(
        self,
        src: Tensor,
        mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        is_causal: bool | None = None,
    ) -> Tensor:
        causal = bool(is_causal)
        for layer in self.layers:
            src = layer(src, mask, src_key_padding_mask, causal)
        return src if self.norm is None else self.norm(src)


class TransformerDecoder(Module):
    """Decoder layers one after the other, then `norm`."""

    norm: Module | None

    def __init__(self, decoder_layer: Module, num_layers: int, norm: Module | None = None) -> None:
        super().__init__()
        self.layers = _copies(decoder_layer, num_layers)
        self.num_layers = num_layers
        self.norm = norm

    def forward(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Tensor:
        for layer in self.layers:
            tgt = layer(
                tgt, memory, tgt_mask, memory_mask, tgt_key_padding_mask,
                memory_key_padding_mask, bool(tgt_is_causal), memory_is_causal,
            )  # fmt: skip
        return tgt if self.norm is None else self.norm(tgt)


class Transformer(Module):
    """An encoder of `src` and a decoder of `tgt` that attends to it.

    >>> import wengert as wg
    >>> net = Transformer(8, 2, 1, 1, 16)
    >>> net(wg.zeros(5, 1, 8), wg.zeros(3, 1, 8)).shape
    torch.Size([3, 1, 8])
    """

    def __init__(
        self,
        d_model: int = 512,
        nhead: int = 8,
        num_encoder_layers: int = 6,
        num_decoder_layers: int = 6,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: Activation = F.relu,
        custom_encoder: Any = None,
        custom_decoder: Any = None,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        settings = (
            d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps, batch_first,
            norm_first, bias, device, dtype,
        )  # fmt: skip
        norm = lambda: LayerNorm(d_model, layer_norm_eps, bias=bias, device=device, dtype=dtype)
        self.encoder = custom_encoder
        if custom_encoder is None:
            layer: Module = TransformerEncoderLayer(*settings)
            self.encoder = TransformerEncoder(layer, num_encoder_layers, norm())
        self.decoder = custom_decoder
        if custom_decoder is None:
            layer = TransformerDecoderLayer(*settings)
            self.decoder = TransformerDecoder(layer, num_decoder_layers, norm())
        self._reset_parameters()
        self.d_model = d_model
        self.nhead = nhead
        self.batch_first = batch_first

    def _reset_parameters(self) -> None:
        for parameter in self.parameters():
            if parameter.ndim > 1:
                init.xavier_uniform_(parameter)

    def forward(
        self,
        src: Tensor,
        tgt: Tensor,
        src_mask: Tensor | None = None,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        src_is_causal: bool | None = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Tensor:
        batch = 0 if self.batch_first else 1
        if src.ndim == 3 and src.shape[batch] != tgt.shape[batch]:
            raise RuntimeError(
                "the batch number of src and tgt must be equal, got "
                f"{src.shape[batch]} and {tgt.shape[batch]}"
            )
        if src.shape[-1] != self.d_model or tgt.shape[-1] != self.d_model:
            raise RuntimeError(
                "the feature number of src and tgt must be equal to d_model="
                f"{self.d_model}, got {src.shape[-1]} and {tgt.shape[-1]}"
            )
        memory = self.encoder(src, src_mask, src_key_padding_mask, src_is_causal)
        return self.decoder(
            tgt, memory, tgt_mask, memory_mask, tgt_key_padding_mask, memory_key_padding_mask,
            tgt_is_causal, memory_is_causal,
        )  # fmt: skip

    @staticmethod
    def generate_square_subsequent_mask(sz: int, device: Any = None, dtype: Any = None) -> Tensor:
        """The mask that hides later positions: -inf above the diagonal, 0 elsewhere."""
        dtype = dtypes.or_default(dtype)
        return wrap(np.triu(np.full((sz, sz), -np.inf, dtype), 1))

"""Attention between sequences, in several heads."""

from __future__ import annotations

from typing import Any

from wengert.nn import functional as F
from wengert.nn import init
from wengert.nn.layers.linear import Linear, new_parameter
from wengert.nn.module import Module
from wengert.nn.parameter import Parameter
from wengert.tensor import Tensor


class NonDynamicallyQuantizableLinear(Linear):
    """The last projection of an attention; prints under this name, as in PyTorch."""


class MultiheadAttention(Module):
    """Attention(Q W_q, K W_k, V W_v) in `num_heads` parts, joined by W_o (Vaswani et al., 2017).

    Takes (L, N, E) or, with `batch_first`, (N, L, E), or (L, E); returns the output and, unless
    `need_weights` is off, the attention weights, their mean over the heads by default. In masks
    True means that a key is not attended to; numbers are added to the scores.

    >>> import wengert as wg
    >>> x = wg.zeros(5, 2, 8)
    >>> out, weights = MultiheadAttention(8, 2)(x, x, x)
    >>> out.shape, weights.shape
    (torch.Size([5, 2, 8]), torch.Size([2, 5, 5]))
    """

    # Any of these may be None, which types pass over.
    bias_k: Parameter
    bias_v: Parameter
    in_proj_weight: Parameter
    in_proj_bias: Parameter
    q_proj_weight: Parameter
    k_proj_weight: Parameter
    v_proj_weight: Parameter

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        dropout: float = 0.0,
        bias: bool = True,
        add_bias_kv: bool = False,
        add_zero_attn: bool = False,
        kdim: int | None = None,
        vdim: int | None = None,
        batch_first: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        if embed_dim <= 0 or num_heads <= 0:
            raise ValueError(
                "embed_dim and num_heads must be greater than 0, got "
                f"embed_dim={embed_dim} and num_heads={num_heads} instead"
            )
        if embed_dim % num_heads:
            raise AssertionError(
                f"embed_dim must be divisible by num_heads, got {embed_dim} and {num_heads}"
            )
        self.embed_dim = embed_dim
        self.kdim = embed_dim if kdim is None else kdim
        self.vdim = embed_dim if vdim is None else vdim
        self._qkv_same_embed_dim = self.kdim == self.vdim == embed_dim
        self.num_heads = num_heads
        self.dropout = dropout
        self.batch_first = batch_first
        self.head_dim = embed_dim // num_heads
        new = lambda *shape: new_parameter(shape, device, dtype)
        one = self._qkv_same_embed_dim
        shapes = {
            "q_proj_weight": None if one else (embed_dim, embed_dim),
            "k_proj_weight": None if one else (embed_dim, self.kdim),
            "v_proj_weight": None if one else (embed_dim, self.vdim),
            "in_proj_weight": (3 * embed_dim, embed_dim) if one else None,
            "in_proj_bias": (3 * embed_dim,) if bias else None,
        }
        for name, shape in shapes.items():
            self.register_parameter(name, None if shape is None else new(*shape))
        self.out_proj = NonDynamicallyQuantizableLinear(embed_dim, embed_dim, bias, device, dtype)
        for name in ("bias_k", "bias_v"):
            self.register_parameter(name, new(1, 1, embed_dim) if add_bias_kv else None)
        self.add_zero_attn = add_zero_attn
        self._reset_parameters()

    def _reset_parameters(self) -> None:
        for name in ("in_proj_weight", "q_proj_weight", "k_proj_weight", "v_proj_weight"):
            if getattr(self, name) is not None:
                init.xavier_uniform_(getattr(self, name))
        if self.in_proj_bias is not None:
            init.constant_(self.in_proj_bias, 0.0)
            init.constant_(self.out_proj.bias, 0.0)
        for extra in (self.bias_k, self.bias_v):
            if extra is not None:
                init.xavier_normal_(extra)

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        key_padding_mask: Tensor | None = None,
        need_weights: bool = True,
        attn_mask: Tensor | None = None,
        average_attn_weights: bool = True,
        is_causal: bool = False,
    ) -> tuple[Tensor, Tensor | None]:
        turned = self.batch_first and query.ndim == 3
        if turned:
            query, key, value = (x.transpose(0, 1) for x in (query, key, value))
        separate: dict[str, Any] = {} if self._qkv_same_embed_dim else {
            "use_separate_proj_weight": True,
            "q_proj_weight": self.q_proj_weight,
            "k_proj_weight": self.k_proj_weight,
            "v_proj_weight": self.v_proj_weight,
        }  # fmt: skip
        out, weights = F.multi_head_attention_forward(
            query, key, value, self.embed_dim, self.num_heads, self.in_proj_weight,
            self.in_proj_bias, self.bias_k, self.bias_v, self.add_zero_attn, self.dropout,
            self.out_proj.weight, self.out_proj.bias, training=self.training,
            key_padding_mask=key_padding_mask, need_weights=need_weights, attn_mask=attn_mask,
            average_attn_weights=average_attn_weights, is_causal=is_causal, **separate,
        )  # fmt: skip
        return (out.transpose(0, 1) if turned else out), weights

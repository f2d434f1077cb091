"""Attention: weighted means of values, by how well queries match keys."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from wengert import dtypes
from wengert.autograd.misfits import told
from wengert.autograd.record import recorder
from wengert.dispatch import known
from wengert.functions.joining import cat
from wengert.nn.functional.activations import softmax
from wengert.nn.functional.normalization import dropout
from wengert.nn.functional.shared import apply, mean, reshape, where
from wengert.nn.functional.windows import linear
from wengert.rules import shapes
from wengert.rules.indexing import slices
from wengert.tensor import Tensor, wrap

_matmul = recorder(np.matmul)
_swapaxes = recorder(np.swapaxes)
_slices = recorder(slices)


@told
def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    """softmax(Q K^T scale + mask) V, with scale 1/sqrt(features) if not given.

    Queries (..., L, E), keys (..., S, E) and values (..., S, Ev) give (..., L, Ev). A mask of truth
    values says which keys take part; another is added to the scores. `is_causal` lets query i see
    keys 0 to i. With `enable_gqa` several heads of queries share a head of keys and values.

    >>> import wengert as wg
    >>> x = wg.eye(2)
    >>> scaled_dot_product_attention(x, x, x, is_causal=True)
    tensor([[1.0000, 0.0000],
            [0.3302, 0.6698]])
    """
    _check(query, key, value, attn_mask, is_causal)
    dtype = query._array.dtype
    single = dtypes.is_half(dtype)
    if single:  # rounded once, in the end
        query, key, value = (x.float() for x in (query, key, value))
        if attn_mask is not None and attn_mask._array.dtype == dtype:
            attn_mask = attn_mask.float()
    if enable_gqa:
        key, value = (_repeat_heads(x, query.shape[-3]) for x in (key, value))
    weights = attention_weights(query, key, attn_mask, is_causal, scale)
    if attn_mask is not None and attn_mask._array.dtype == bool:
        empty = ~attn_mask._array.any(-1, keepdims=True)
        if not known(empty) or empty.any():  # a query without a key attends to nothing
            weights = where(empty, 0, weights)
    if dropout_p:
        weights = dropout(weights, dropout_p)
    out = _matmul(weights, value)
    return out.to(dtype) if single else out


def attention_weights(
    query: Tensor, key: Tensor, mask: Tensor | None, is_causal: bool, scale: float | None = None
) -> Tensor:
    """softmax(Q K^T scale + mask): (..., queries, keys), each row with the sum 1."""
    scale = 1 / math.sqrt(query.shape[-1] or 1) if scale is None else scale
    scores = _matmul(query * scale, _swapaxes(key, -1, -2))
    if is_causal:
        causal = np.tri(query.shape[-2], key.shape[-2], dtype=bool)
        scores = where(causal, scores, -math.inf)
    elif mask is not None:
        visible = mask._array
        scores = where(visible, scores, -math.inf) if visible.dtype == bool else scores + mask
    return softmax(scores, -1)


def _check(query: Any, key: Any, value: Any, mask: Any, is_causal: bool) -> None:
    if is_causal and mask is not None:
        raise RuntimeError(
            "_scaled_dot_product_attention: Explicit attn_mask should not be set when "
            "is_causal=True"
        )
    if query._array.dtype != key._array.dtype or query._array.dtype != value._array.dtype:
        raise RuntimeError(
            "Expected query, key, and value to have the same dtype, but got query.dtype: "
            f"{query.dtype}, key.dtype: {key.dtype}, and value.dtype: {value.dtype} instead."
        )
    if min(x.ndim for x in (query, key, value)) < 2:
        raise RuntimeError(
            "Expected query, key, and value to all be at least 2 dimensional, but got "
            f"{query.ndim}, {key.ndim} and {value.ndim} dimensions"
        )
    if query.shape[-1] != key.shape[-1] or key.shape[-2] != value.shape[-2]:
        raise RuntimeError(
            f"attention: queries {list(query.shape)}, keys {list(key.shape)} and values "
            f"{list(value.shape)} do not fit. Queries and keys need the same last dimension, keys "
            "and values the same last but one."
        )


def _repeat_heads(x: Tensor, heads: int) -> Tensor:
    if heads % x.shape[-3]:
        raise RuntimeError(
            f"enable_gqa: {heads} heads of queries are no multiple of {x.shape[-3]} heads of keys "
            "and values"
        )
    return apply(shapes.repeat_interleave, x, heads // x.shape[-3], x.ndim - 3)


# ---- several heads -------------------------------------------------------------------------


def _check_masks(**masks: Any) -> None:
    for name, mask in masks.items():
        if mask is not None and not isinstance(mask, Tensor):
            raise TypeError(
                f"{name} must be a Tensor or None, not {type(mask).__name__}. Make one with "
                "wengert.tensor(...): True hides a key."
            )


def multi_head_attention_forward(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    embed_dim_to_check: int,
    num_heads: int,
    in_proj_weight: Tensor | None,
    in_proj_bias: Tensor | None,
    bias_k: Tensor | None,
    bias_v: Tensor | None,
    add_zero_attn: bool,
    dropout_p: float,
    out_proj_weight: Tensor,
    out_proj_bias: Tensor | None,
    training: bool = True,
    key_padding_mask: Tensor | None = None,
    need_weights: bool = True,
    attn_mask: Tensor | None = None,
    use_separate_proj_weight: bool = False,
    q_proj_weight: Tensor | None = None,
    k_proj_weight: Tensor | None = None,
    v_proj_weight: Tensor | None = None,
    static_k: Tensor | None = None,
    static_v: Tensor | None = None,
    average_attn_weights: bool = True,
    is_causal: bool = False,
) -> tuple[Tensor, Tensor | None]:
    """What `nn.MultiheadAttention` computes, of (L, N, E) or (L, E); see there."""
    _check_masks(key_padding_mask=key_padding_mask, attn_mask=attn_mask)
    lone = query.ndim == 2
    if lone:
        query, key, value = (x.unsqueeze(1) for x in (query, key, value))
        if key_padding_mask is not None:
            key_padding_mask = key_padding_mask.unsqueeze(0)
    _check_heads(query, key, value, embed_dim_to_check, num_heads)
    times, batch, width = query.shape
    if is_causal and attn_mask is None:
        raise RuntimeError(
            "Need attn_mask if specifying the is_causal hint: pass "
            "Transformer.generate_square_subsequent_mask(L)"
        )
    if use_separate_proj_weight:
        weights = (q_proj_weight, k_proj_weight, v_proj_weight)
        biases = (None,) * 3 if in_proj_bias is None else _thirds(in_proj_bias)
        q, k, v = (
            linear(x, w, b)  # type: ignore[arg-type]
            for x, w, b in zip((query, key, value), weights, biases, strict=True)
        )
    else:
        q, k, v = _projected(query, key, value, in_proj_weight, in_proj_bias)
    if bias_k is not None and bias_v is not None:
        spread = lambda b: b.expand(1, batch, width)
        k, v = cat([k, spread(bias_k)], 0), cat([v, spread(bias_v)], 0)
        attn_mask, key_padding_mask = _wider(attn_mask), _wider(key_padding_mask)
    q, k, v = (_in_heads(x, num_heads) for x in (q, k, v))  # (N, heads, times, features)
    k = k if static_k is None else reshape(static_k, (batch, num_heads, *static_k.shape[1:]))
    v = v if static_v is None else reshape(static_v, (batch, num_heads, *static_v.shape[1:]))
    if add_zero_attn:
        none = wrap(np.zeros((*k.shape[:2], 1, k.shape[3]), k.dtype))
        k, v = cat([k, none], 2), cat([v, none], 2)
        attn_mask, key_padding_mask = _wider(attn_mask), _wider(key_padding_mask)
    mask = _joined_mask(attn_mask, key_padding_mask, q.shape, k.shape[2], q.dtype)
    shares = attention_weights(q, k, mask, False)
    dropped = dropout(shares, dropout_p) if dropout_p and training else shares
    out = _matmul(dropped, v).permute(2, 0, 1, 3)
    out = linear(reshape(out, (times, batch, width)), out_proj_weight, out_proj_bias)
    attention: Tensor | None = None
    if need_weights:
        attention = mean(dropped, 1) if average_attn_weights else dropped
        attention = attention[0] if lone else attention
    return (out.squeeze(1) if lone else out), attention


def _check_heads(query: Any, key: Any, value: Any, embed_dim: int, num_heads: int) -> None:
    if query.ndim != 3 or key.ndim != 3 or value.ndim != 3:
        raise AssertionError(
            "query should be unbatched 2D or batched 3D tensor, and key and value alike, but got "
            f"{query.ndim}-D, {key.ndim}-D and {value.ndim}-D tensors"
        )
    if query.shape[2] != embed_dim:
        raise AssertionError(
            f"was expecting embedding dimension of {embed_dim}, but got {query.shape[2]}"
        )
    if key.shape[:2] != value.shape[:2]:
        raise AssertionError(
            f"key's sequence and batch dims {tuple(key.shape[:2])} do not match value's "
            f"{tuple(value.shape[:2])}"
        )
    if key.shape[1] != query.shape[1]:
        raise AssertionError(
            f"query has a batch of {query.shape[1]}, key one of {key.shape[1]}; with "
            "batch_first=False the batch is the second dimension"
        )
    if embed_dim % num_heads:
        raise AssertionError(f"embed_dim {embed_dim} not divisible by num_heads {num_heads}")


def _thirds(x: Tensor) -> list[Tensor]:
    n = x.shape[0] // 3
    return [_slices(x, slice(k * n, (k + 1) * n)) for k in range(3)]


def _projected(query: Any, key: Any, value: Any, weight: Any, bias: Any) -> list[Tensor]:
    """Queries, keys and values by one weight: in one product where they are of one tensor."""
    if query is key and key is value:
        joint = linear(query, weight, bias)
        width = joint.shape[-1] // 3
        return [_slices(joint, (Ellipsis, slice(k * width, (k + 1) * width))) for k in range(3)]
    biases = [None] * 3 if bias is None else _thirds(bias)
    items = zip((query, key, value), _thirds(weight), biases, strict=True)
    return [linear(x, w, b) for x, w, b in items]


def _in_heads(x: Tensor, heads: int) -> Tensor:
    times, batch, width = x.shape
    return reshape(x, (times, batch, heads, width // heads)).permute(1, 2, 0, 3)


def _wider(mask: Tensor | None) -> Tensor | None:
    """The mask with one more key, that all attend to."""
    if mask is None:
        return None
    more = wrap(np.zeros((*mask.shape[:-1], 1), mask.dtype))
    return cat([mask, more], -1)


def _joined_mask(
    attn_mask: Any, padding: Any, queries: Any, keys: int, dtype: Any
) -> Tensor | None:
    """Both masks as numbers to add to scores (N, heads, L, S)."""
    batch, heads, times, _ = queries
    mask = None
    if attn_mask is not None:
        shape = tuple(attn_mask.shape)
        if shape not in ((times, keys), (batch * heads, times, keys)):
            raise RuntimeError(
                f"The shape of the attn_mask is {shape}, but should be {(times, keys)} or "
                f"{(batch * heads, times, keys)}."
            )
        mask = _additive(attn_mask, "attn_mask", dtype)
        if len(shape) == 3:
            mask = reshape(mask, (batch, heads, times, keys))
    if padding is not None:
        if tuple(padding.shape) != (batch, keys):
            raise AssertionError(
                f"expecting key_padding_mask shape of {(batch, keys)}, but got "
                f"{tuple(padding.shape)}"
            )
        hidden = reshape(_additive(padding, "key_padding_mask", dtype), (batch, 1, 1, keys))
        mask = hidden if mask is None else mask + hidden
    return mask


def _additive(mask: Tensor, name: str, dtype: Any) -> Tensor:
    """A mask of truth values as numbers to add: -inf where True."""
    if mask._array.dtype == bool:
        zero = np.zeros((), dtype)
        return wrap(np.where(mask._array, zero - np.inf, zero).astype(dtype))
    if not dtypes.is_floating(mask._array.dtype):
        raise AssertionError(
            f"only bool and floating types of {name} are supported, got {mask.dtype}"
        )
    return mask

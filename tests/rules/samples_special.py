"""Sample calls for the rules of special functions."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.rules.data import (
    Call,
    between,
    both_signs,
    fixed,
    normal,
    one,
    positive,
    scattered,
    two,
    unit_interval,
)
from wengert.rules import special

_inside = between(0.2, 0.8)
_above = between(1.2, 3.0)
_nonzero = both_signs(_above)


def _of_second(first: float, draw: Any) -> list[Call]:
    """Calls of a function of a and b that is differentiable by b only: a is a number."""
    return [{"a": first, "b": draw(2, 3)}, {"a": first, "b": draw()}]


def _of_order(draw: Any, *orders: Any) -> list[Call]:
    calls: list[Call] = [{"x": draw(2, 3), "order": order} for order in orders]
    return [
        *calls,
        {"x": draw(), "order": orders[0]},
        {"x": scattered(draw, 2), "order": orders[0]},
    ]


def _of_degree(*parameters: float) -> list[Call]:
    return [
        {"x": normal(2, 3), "order": order, **({"parameter": p} if parameters else {})}
        for order in (0, 1, 3, fixed(np.array([2, 0, 4])))
        for p in (parameters or (None,))
    ]


_exponents = between(1.5, 4.0)
SAMPLES: dict[Any, list[Call]] = {
    special.gammaln: one(_above),
    special.gamma: one(_above),
    special.digamma: one(_above),
    special.polygamma: _of_order(_above, 0, 1, 2),
    special.beta: two(_above, _above),
    special.betaln: two(_above, _above),
    special.zeta: [*two(_exponents, _above), *_of_second(2.5, _above)],
    special.gammainc: [*two(_above, _above), *_of_second(1.5, _above)],
    special.gammaincc: [*two(_above, _above), *_of_second(1.5, _above)],
    special.gammaincinv: two(_above, _inside),
    special.gammainccinv: two(_above, _inside),
    special.moved_gamma: [
        {"a": _above(2, 3), "b": _above(2, 3), "drawn": _above(2, 3)},
        {"a": _above(2, 3), "b": _above(3), "drawn": _above(2, 1)},
    ],
    special.gamma_moment: [
        {"a": _above(2, 3), "b": draw(2, 3), "order": order}
        for draw in (_inside, between(3.5, 5.0))
        for order in (0, 1, 2)
    ],
    special.betainc: [
        {"a": _above(2, 3), "b": _above(2, 3), "x": _inside(2, 3)},
        {"a": _above(2, 1), "b": _above(3), "x": _inside()},
    ],
    special.betaincinv: [
        {"a": _above(2, 3), "b": _above(2, 3), "p": _inside(2, 3)},
        {"a": _above(2, 1), "b": _above(3), "p": _inside()},
    ],
    special.beta_moment: [
        {"a": _above(2, 3), "b": _above(2, 3), "x": _inside(2, 3), "m": m, "n": n}
        for m, n in ((0, 0), (1, 0), (0, 1), (2, 1))
    ],
    special.stdtr: two(_above, _nonzero),
    special.stdtrit: two(_above, between(0.55, 0.8)),
    special.rgamma: one(_above),
    special.hyp1f1: [{"x": normal(2, 3), "a": 1.5, "b": 2.5}],
    special.hyp2f1: [{"x": unit_interval(2, 3), "a": 1.0, "b": 0.5, "c": 2.5}],
    special.gammasgn: one(_above),
    special.erfc: one(normal),
    special.erfcx: one(unit_interval),
    special.erfi: one(unit_interval),
    special.erfinv: one(unit_interval),
    special.erfcinv: one(_inside),
    special.dawsn: one(normal),
    special.ndtr: one(normal),
    special.ndtri: one(_inside),
    special.log_ndtr: [*one(normal), {"x": fixed(np.array([-30.0, -5.0, 8.0]))}],
    special.logit: one(_inside),
    special.xlogy: [*two(normal, positive), {"a": fixed(np.zeros(2)), "b": positive(2)}],
    special.xlog1py: [*two(normal, positive), {"a": fixed(np.zeros(2)), "b": positive(2)}],
    special.entr: one(positive),
    special.rel_entr: two(positive, positive),
    special.kl_div: two(positive, positive),
    special.exp1: one(positive),
    special.expi: one(_above),
    special.j0: one(normal),
    special.j1: [*one(normal), {"x": fixed(np.zeros(2))}],
    special.y0: one(_above),
    special.y1: one(_above),
    special.i0: one(normal),
    special.i1: [*one(normal), {"x": fixed(np.zeros(2))}],
    special.i0e: one(_nonzero),
    special.i1e: one(_nonzero),
    special.k0: one(_above),
    special.k1: one(_above),
    special.k0e: one(_above),
    special.k1e: one(_above),
    special.jv: _of_order(_above, 0.5, 2, -1),
    special.yv: _of_order(_above, 0.5, 2),
    special.iv: _of_order(_above, 0.5, 2),
    special.ive: _of_order(_nonzero, 2, 3),
    special.kv: _of_order(_above, 0.5, 2),
    special.kve: _of_order(_above, 0.5, 2),
    special.airy_ai: one(normal),
    special.airy_aip: one(normal),
    special.chebyt: _of_degree(),
    special.gegenbauer: _of_degree(1.0, 0.5),
    special.genlaguerre: _of_degree(0.0, 1.0),
    special.hermite: _of_degree(),
    special.hermitenorm: _of_degree(),
}

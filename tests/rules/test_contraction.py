"""einsum by products of matrices gives what NumPy's own loops give."""

from __future__ import annotations

import numpy as np
import pytest

from wengert.rules import contraction
from wengert.rules.products import einsum

EQUATIONS = {
    "ij,jk->ik": [(40, 30), (30, 50)],
    "ij,jk->ki": [(40, 30), (30, 50)],
    "bhqd,bhkd->bhqk": [(2, 3, 20, 30), (2, 3, 25, 30)],
    "bhqk,bhkd->bqhd": [(2, 3, 20, 30), (2, 3, 30, 25)],
    "ib,jb->bij": [(40, 6), (30, 6)],
    "iab,abj->ji": [(40, 5, 6), (5, 6, 30)],
    "aix,ajy->aij": [(3, 40, 2), (3, 50, 4)],
    "bij,bjk->bik": [(1, 40, 30), (7, 30, 50)],
    "ij,jk->k": [(40, 30), (30, 50)],
    "i,j->ij": [(200,), (200,)],
    "ij,ij->": [(200, 200), (200, 200)],
    "ij,jk,kl->il": [(40, 50), (50, 60), (60, 3)],
    "i,ij,jk,k->": [(40,), (40, 50), (50, 60), (60,)],
    "ij,->ji": [(200, 200), ()],
}


@pytest.mark.parametrize("step", [contraction.as_matrices, contraction.quickest])
@pytest.mark.parametrize("equation", EQUATIONS)
def test_contractions_in_pairs_are_einsum(equation, step):
    rng = np.random.default_rng(0)
    operands = [rng.standard_normal(shape) for shape in EQUATIONS[equation]]
    expected = np.einsum(equation, *operands, optimize=True)
    np.testing.assert_allclose(contraction.in_pairs(equation, operands, step), expected)
    np.testing.assert_allclose(einsum(equation, operands), expected)


def test_products_of_matrices_go_to_blas_and_the_others_do_not(monkeypatch):
    seen = []
    monkeypatch.setattr(contraction, "as_matrices", lambda *call: seen.append(call[1::2]))
    contraction.quickest(np.ones((40, 40)), "ij", np.ones((40, 40)), "jk", "ik")
    contraction.quickest(np.ones((400, 400)), "ij", np.ones(400), "j", "i")  # bound by memory
    contraction.quickest(np.ones((40, 40), int), "ij", np.ones((40, 40), int), "jk", "ik")
    contraction.quickest(np.ones((4, 4)), "ij", np.ones((4, 4)), "jk", "ik")
    assert seen == [("ij", "jk")]


def test_a_result_has_the_order_of_its_letters_in_memory():
    a, b = np.ones((40, 30)), np.ones((30, 50))
    assert einsum("ij,jk->ki", [a, b]).flags.c_contiguous

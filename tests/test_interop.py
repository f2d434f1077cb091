"""Other libraries' functions on Tensors, and memory shared with their arrays."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

import wengert as wg

IMAGES = np.random.default_rng(0).standard_normal((2, 3, 4, 6))

# ---- einops --------------------------------------------------------------------------------

einops = pytest.importorskip("einops")
import wengert.interop.einops  # noqa: E402  (tells einops about Tensors)

PATTERNS = {
    "rearrange": lambda x: einops.rearrange(x, "b c (h p) (w q) -> b (h w) (p q c)", p=2, q=3),
    "mean": lambda x: einops.reduce(x, "b c h w -> b c", "mean"),
    "largest": lambda x: einops.reduce(x, "b c (h 2) (w 2) -> b c h w", "max"),
    "prod": lambda x: einops.reduce(x, "b c h w -> c", "prod"),
    "repeat": lambda x: einops.repeat(x, "b c h w -> b c (h 2) w"),
    "einsum": lambda x: einops.einsum(x, x, "b c h w, b d h w -> b c d"),
    "pack": lambda x: einops.pack([x, x], "b * h w")[0],
    "stack": lambda x: einops.rearrange([x, x], "n b c h w -> b n c (h w)"),
}


@pytest.mark.parametrize("name", PATTERNS)
def test_einops_takes_tensors_and_is_differentiated(name):
    x = wg.tensor(IMAGES, requires_grad=True)
    out = PATTERNS[name](x)
    np.testing.assert_allclose(out.detach().numpy(), PATTERNS[name](IMAGES))
    assert wg.autograd.gradcheck(PATTERNS[name], (x,))


def test_einops_knows_shapes_and_numbers():
    x = wg.tensor(IMAGES)
    assert einops.parse_shape(x, "b c _ w") == {"b": 2, "c": 3, "w": 6}
    assert np.array_equal(einops.asnumpy(x), IMAGES)


# ---- DLPack --------------------------------------------------------------------------------

DTYPES = ["int8", "int32", "int64", "uint8", "bool", "float32", "float64", "complex64"]


def torch_arrays():
    torch = pytest.importorskip("torch")
    return torch.from_dlpack, lambda dtype: torch.ones(3, dtype=getattr(torch, dtype))


def jax_arrays():
    jnp = pytest.importorskip("jax.numpy")
    # Its arrays are 32 bits wide unless it is told otherwise.
    return jnp.from_dlpack, lambda dtype: jnp.ones(3, dtype.replace("64", "32"))


def numpy_arrays():
    return np.from_dlpack, lambda dtype: np.ones(3, dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("library", [numpy_arrays, torch_arrays, jax_arrays])
@pytest.mark.filterwarnings("ignore:Explicitly requested dtype")
def test_arrays_go_both_ways(library, dtype):
    take, make = library()
    theirs = make(dtype if dtype != "complex64" or library is not jax_arrays else "float32")
    ours = wg.from_dlpack(theirs)
    assert isinstance(ours, wg.Tensor)
    assert str(ours.dtype) in str(theirs.dtype)
    assert np.array_equal(ours.numpy(), np.ones(3))
    back = take(ours)
    assert back.dtype == theirs.dtype
    assert np.array_equal(np.asarray(back), np.ones(3))


def test_memory_is_shared_with_pytorch_both_ways():
    torch = pytest.importorskip("torch")
    theirs = torch.zeros(2, 3)
    wg.from_dlpack(theirs.T)[1, 0] = 5.0
    assert theirs[0, 1] == 5
    ours = wg.zeros(2, 3)
    torch.from_dlpack(ours[:, ::2])[1, 1] = 7.0
    assert ours[1, 2] == 7


def test_capsules_are_taken_as_pytorch_takes_them():
    torch = pytest.importorskip("torch")
    theirs = torch.arange(3)
    ours = wg.from_dlpack(torch.utils.dlpack.to_dlpack(theirs))
    theirs += 1
    assert ours.tolist() == [1, 2, 3]
    assert torch.utils.dlpack.from_dlpack(wg.utils.dlpack.to_dlpack(ours)).tolist() == [1, 2, 3]


def test_what_is_no_array_is_a_type_error():
    with pytest.raises(TypeError, match=r"from_dlpack.*not list"):
        wg.from_dlpack([1.0])


# ---- scikit-learn --------------------------------------------------------------------------

ESTIMATORS = """
import numpy as np, wengert as wg
from sklearn import config_context
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import Ridge
from sklearn.metrics import matthews_corrcoef
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import LabelBinarizer, PolynomialFeatures, StandardScaler

rng = np.random.default_rng(0)
A, labels, b = rng.standard_normal((20, 5)), rng.integers(0, 3, 20), rng.standard_normal(20)

def chain():
    return make_pipeline(StandardScaler(), PCA(2, svd_solver="full"), Ridge(solver="svd"))

CALLS = [
    lambda x, y, z: chain().fit(x, z).predict(x),
    lambda x, y, z: PolynomialFeatures(2).fit_transform(x),
    lambda x, y, z: LabelBinarizer().fit_transform(y),
    lambda x, y, z: GaussianNB().fit(x, y).predict_proba(x),
    lambda x, y, z: abs(LinearDiscriminantAnalysis(solver="svd").fit(x, y).transform(x)),
]
for call in CALLS:
    with config_context(array_api_dispatch=True):
        found = call(wg.tensor(A), wg.tensor(labels), wg.tensor(b))
    assert isinstance(found, wg.Tensor), type(found)
    np.testing.assert_allclose(found.numpy(), call(A, labels, b), rtol=1e-6, atol=1e-8)
with config_context(array_api_dispatch=True):
    score = matthews_corrcoef(wg.tensor(labels), wg.tensor((labels + 1) % 3))
np.testing.assert_allclose(float(score), matthews_corrcoef(labels, (labels + 1) % 3))
"""


def test_scikit_learns_estimators_take_tensors():
    pytest.importorskip("sklearn")
    # SciPy reads this once, when it is imported: hence a process of its own.
    environment = os.environ | {"SCIPY_ARRAY_API": "1"}
    finished = subprocess.run(
        [sys.executable, "-c", ESTIMATORS], env=environment, capture_output=True, text=True
    )
    assert finished.returncode == 0, finished.stderr

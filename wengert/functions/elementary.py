"""The functions whose rules state PyTorch's names: `exp`, `atanh`, `maximum`, `sin_`, ...

Each is stated once, in `wengert/rules/`, with its derivative. Type checkers see them in
`elementary.pyi`, which is written by `python -m docs.generate.stubs`.
"""

from wengert import rules as _rules  # noqa: F401  # all of them
from wengert.functions import declared as _declared

_declared.publish_all()

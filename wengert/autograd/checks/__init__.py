"""What `gradcheck` is made of: Jacobians in three ways, their comparison, and further trials."""

from typing import TYPE_CHECKING

from wengert.imports import later

if TYPE_CHECKING:
    from wengert.autograd.checks import robustness as robustness
    from wengert.autograd.checks.comparison import Check as Check
    from wengert.autograd.checks.comparison import compare as compare
    from wengert.autograd.checks.comparison import generator as generator
    from wengert.autograd.checks.jacobians import as_tuple as as_tuple
    from wengert.autograd.checks.jacobians import is_complex as is_complex
    from wengert.autograd.checks.jacobians import tracked as tracked
    from wengert.autograd.checks.jacobians import tracked_places as tracked_places

__getattr__, __dir__ = later(__name__)

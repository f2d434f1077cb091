"""Pictures of graphs and of training. What needs matplotlib or rich imports it when it is used.

Begin with `drawing.py`: `draw` gives the picture of a result, a module or a function, which
`graph.py` reads off the recorded nodes and `folding.py` makes small. `training.py` plots gradients
and weights. Pages about a function's derivative are in `wengert.explain`. Nothing in the package
leans on this folder.
"""

from wengert.visual.drawing import Drawing as Drawing
from wengert.visual.drawing import draw as draw
from wengert.visual.training import gradient_flow as gradient_flow
from wengert.visual.training import weights as weights

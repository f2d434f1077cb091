"""Pictures and tables. What needs matplotlib or rich imports it when it is first used."""

from wengert.visual.drawing import Drawing as Drawing
from wengert.visual.drawing import draw as draw
from wengert.visual.training import gradient_flow as gradient_flow
from wengert.visual.training import weights as weights

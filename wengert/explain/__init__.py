"""Seeing derivatives: the textbook's traces, pages to step through, and NumPy programs."""

from wengert.explain.explanation import Explanation as Explanation
from wengert.explain.traces import MAX_STEPS as MAX_STEPS
from wengert.explain.traces import explain as explain

"""Difference quotients, to hold derivatives against."""

import numpy as np


def gradient(f, x, h=1e-6):
    """The gradient of a function of one array, by central differences."""
    x = np.asarray(x, float)
    g = np.zeros_like(x)
    for i in np.ndindex(x.shape):
        step = np.zeros_like(x)
        step[i] = h
        g[i] = (f(x + step) - f(x - step)) / (2 * h)
    return g


def jacobian(f, x, h=1e-6):
    x = np.asarray(x, float)
    columns = []
    for i in np.ndindex(x.shape):
        step = np.zeros_like(x)
        step[i] = h
        columns.append((np.asarray(f(x + step)) - np.asarray(f(x - step))) / (2 * h))
    return np.stack(columns, -1).reshape(columns[0].shape + x.shape)

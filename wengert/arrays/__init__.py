"""Kinds of arrays beneath the engine: what a rule means depends on which kind flows through it."""

from wengert.arrays import common as common

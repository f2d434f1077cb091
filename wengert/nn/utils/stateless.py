"""The old place of `wengert.func.functional_call`."""

from wengert.transforms.modules import functional_call as functional_call

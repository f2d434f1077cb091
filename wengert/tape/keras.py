"""`tf.keras`, of which there are the optimizers."""

from wengert.tape import optimizers as optimizers

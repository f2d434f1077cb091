"""Examples that stand for whole batches. Importing this says what functions mean on them."""

from wengert.arrays.batched import functions as functions
from wengert.arrays.batched import layers as layers
from wengert.arrays.batched import meanings as meanings
from wengert.arrays.batched import primitives as primitives
from wengert.arrays.batched import products as products

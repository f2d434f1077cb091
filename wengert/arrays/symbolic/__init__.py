"""Arrays of formulas: what `wengert.symbolic` runs a function on."""

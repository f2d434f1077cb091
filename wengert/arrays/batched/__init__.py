"""Arrays that show one example and hold all: what `vmap` runs a function on."""

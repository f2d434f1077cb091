"""Arrays that write a program down: what `wengert.compile` runs a function on."""

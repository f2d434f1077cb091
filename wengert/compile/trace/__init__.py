"""From a call to a program: traced arrays, and the capture of what a function reads and writes."""

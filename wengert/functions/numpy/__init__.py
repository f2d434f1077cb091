"""What NumPy's functions mean on Tensors, and how their calls get there."""

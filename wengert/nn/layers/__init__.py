"""The layers: modules around the functions of `nn.functional`."""

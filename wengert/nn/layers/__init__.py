"""The layers: modules around the functions of `nn.functional`.

Begin with `applied.py`: a layer that is a function and its settings is a class that names both, and
inherits the rest. Layers with parameters make them in `__init__` and say in `forward` which
function takes them: `linear.py` is the shortest. One file for each subject, as in
`nn/functional/`.

To add a layer, write its class where its subject is, and name it in `nn/__init__.py`;
`tests/parity/` compares its settings, text and numbers with PyTorch's. Imports functions, `module`
and `parameter`, and of `nn/utils/` packed sequences; containers know no layer.
"""

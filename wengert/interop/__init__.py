"""Libraries that must be told about Tensors: import the module named after one."""

"""Libraries that must be told about Tensors: import the module named after one.

To add one, write a module of its name that registers Tensor with it when imported. Nothing in the
package leans on this folder.
"""

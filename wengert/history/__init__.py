"""What a tensor remembers: nodes, the modes that decide whether they are made, the user's lines.

The lowest floor of autograd; `wengert.tensor` stands on it, and `wengert.autograd` on that.
"""

"""Numbers that know which inputs they came from: the pattern of a sparse Jacobian."""

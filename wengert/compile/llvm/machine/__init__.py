"""The processor: types, the target, and machine code kept on disk."""

"""From a call to machine code and back: specializations, the native entry, and the derivative."""

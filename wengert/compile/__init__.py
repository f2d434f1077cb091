"""The compiler: a traced function becomes a program, fused loops, and machine code."""

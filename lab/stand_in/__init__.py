"""A stand-in for Ray and vLLM in a container image: their commands without their weight.

Runs inside the image with the standard library alone. What it leaves out is said in lab/README.md.
"""

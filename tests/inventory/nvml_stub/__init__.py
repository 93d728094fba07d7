"""A stand-in for the driver's library, on which nvidia-ml-py, nvitop and gpustat run as they are: README.md."""

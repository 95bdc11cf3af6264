"""The container image with real vLLM and Ray on CPUs, built without a Docker daemon."""

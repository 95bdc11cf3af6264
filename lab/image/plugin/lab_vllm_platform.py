"""The vLLM platform plugin of the lab's image, an entry point of vllm.platform_plugins."""


def platform() -> str:
    """Return the class that vLLM takes as its platform.

    It is in a module of its own: importing vLLM's platforms from here would go in circles.
    """
    return "lab_vllm_ray_cpu.RayCpuPlatform"

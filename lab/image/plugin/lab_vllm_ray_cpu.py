"""vLLM's CPU platform for a Ray whose nodes declare their CPUs' share as GPUs."""

from typing import Any

from vllm.platforms.cpu import CpuPlatform  # type: ignore[import-not-found, unused-ignore]


class RayCpuPlatform(CpuPlatform):  # type: ignore[misc, unused-ignore]
    """The CPU platform with a Ray resource, without which vLLM refuses to use Ray."""

    ray_device_key = "GPU"

    @classmethod
    def get_device_communicator_cls(cls) -> str:
        """Return the class that carries data between ranks."""
        return "lab_vllm_network.NetworkCommunicator"

    @classmethod
    def check_and_update_config(cls, vllm_config: Any) -> None:
        """Complete a configuration as vLLM does for CPUs, with the lab's worker."""
        super().check_and_update_config(vllm_config)
        vllm_config.parallel_config.worker_cls = "lab_vllm_stages.StagesWorker"

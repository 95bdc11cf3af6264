"""What carries data between ranks, in a module of its own: it needs the platform to be there."""

from vllm.distributed.device_communicators.cpu_communicator import (  # type: ignore[import-not-found, unused-ignore]
    CpuCommunicator,
)


class NetworkCommunicator(CpuCommunicator):  # type: ignore[misc, unused-ignore]
    """Carries data between ranks over the network alone.

    With its library for AVX-512, vLLM 0.32 takes ranks on two hosts for ranks that share memory,
    as both derive the same name from the port of their process group.
    """

    def _all_group_ranks_share_shm_group_name(self) -> bool:
        return False

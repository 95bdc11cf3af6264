"""Environment variables: what every container of a host gets, and what nobody else may set."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tandem.settings import HostSettings, Settings

INTERFACE_VARIABLES = (
    "NCCL_SOCKET_IFNAME",
    "GLOO_SOCKET_IFNAME",  # takes one concrete name, none of NCCL's patterns
    "TP_SOCKET_IFNAME",
)
RDMA_VARIABLES = ("UCX_NET_DEVICES", "OMPI_MCA_btl_tcp_if_include")

IMAGE_VARIABLES = ("VLLM_MAX_MODEL_LEN", "VLLM_GPU_MEMORY_UTIL", "VLLM_HOST")
"""How an image whose own entrypoint starts vLLM is configured."""

RESERVED = {
    "VLLM_HOST_IP": "hosts[].address",
    # vLLM takes VLLM_PORT for its internal ports, so it collides with the API (vllm/envs.py).
    "VLLM_PORT": "serve.port",
    **dict.fromkeys(INTERFACE_VARIABLES, "hosts[].interface"),
}
"""Variables that Tandem sets under any backend, and the key that decides each."""


def host_environment(
    settings: Settings, host: HostSettings, interface: str | None
) -> dict[str, str]:
    """Return the variables of every container on ``host``.

    They name the host itself and may not be copied from another host (vllm#7815, sparkrun#135).
    """
    env = {
        "VLLM_HOST_IP": str(host.address),
        # What was compared is what is served: nothing is fetched beside it.
        "HF_HUB_OFFLINE": "1",
    }
    if interface is not None:
        env |= dict.fromkeys(INTERFACE_VARIABLES, interface)
    if settings.rdma and interface is not None:
        env |= dict.fromkeys(RDMA_VARIABLES, interface)
    env["NCCL_IB_DISABLE"] = "0" if settings.rdma else "1"
    return env | host.env

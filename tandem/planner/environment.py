"""Environment variables: what every container of a host gets, and what nobody else may set."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tandem.settings import HostSettings, Settings

CONFIG_ROOT = "/tandem/vllm"
"""Where the server finds vLLM's configuration files (VLLM_CONFIG_ROOT, vllm/envs.py)."""

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
    "RAY_NODE_IP_ADDRESS": "hosts[].address",
    "RAY_OVERRIDE_NODE_IP_ADDRESS": "hosts[].address",
    "RAY_ADDRESS": "ray.port",
    "RAY_memory_monitor_refresh_ms": "nothing: Tandem switches Ray's memory monitor off",
    "VLLM_CONFIG_ROOT": "nothing: Tandem keeps Ray's list of host variables there",
    # vLLM takes VLLM_PORT for its internal ports, so it collides with the API (vllm/envs.py).
    "VLLM_PORT": "serve.port",
    **dict.fromkeys(INTERFACE_VARIABLES, "hosts[].interface"),
}
"""Variables that Tandem sets, and the key that decides each."""


def host_environment(
    settings: Settings, host: HostSettings, interface: str | None
) -> dict[str, str]:
    """Return the variables of every container on ``host``.

    They name the host itself, so they have to be there when ``ray start`` runs and may not be
    copied from another host (vllm#7815, sparkrun#135).
    """
    address = str(host.address)
    env = {
        "VLLM_HOST_IP": address,
        "RAY_NODE_IP_ADDRESS": address,
        "RAY_OVERRIDE_NODE_IP_ADDRESS": address,
        # On unified memory Ray takes loaded weights for a leak and kills the worker.
        "RAY_memory_monitor_refresh_ms": "0",
        # What was compared is what is served: nothing is fetched beside it.
        "HF_HUB_OFFLINE": "1",
    }
    if interface is not None:
        env |= dict.fromkeys(INTERFACE_VARIABLES, interface)
    if settings.rdma and interface is not None:
        env |= dict.fromkeys(RDMA_VARIABLES, interface)
    env["NCCL_IB_DISABLE"] = "0" if settings.rdma else "1"
    return env | host.env


def not_carried_over(settings: Settings) -> list[str]:
    """Return the names that vLLM's Ray executor must not copy from the head to the workers."""
    names = {*INTERFACE_VARIABLES, *RDMA_VARIABLES, "NCCL_IB_DISABLE", "NCCL_IB_GID_INDEX"}
    names |= {"NCCL_IB_HCA", "VLLM_HOST_IP", "VLLM_API_KEY"}
    names |= {"RAY_NODE_IP_ADDRESS", "RAY_OVERRIDE_NODE_IP_ADDRESS"}
    names |= {name for host in settings.hosts for name in host.env}
    return sorted(names)

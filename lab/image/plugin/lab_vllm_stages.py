"""vLLM's worker on CPUs where there are pipeline stages, in a module of its own: it needs torch."""

from vllm.v1.worker.cpu_worker import (  # type: ignore[import-not-found, unused-ignore]
    CPUWorker,
)


class StagesWorker(CPUWorker):  # type: ignore[misc, unused-ignore]
    """A worker that has run one step before the first request.

    A stage makes the tensors that it takes from the stage before in a step of its own. vLLM 0.32
    leaves that step out on CPUs where nothing is compiled (v1/worker/cpu_worker.py), and the first
    request fails.
    """

    def determine_available_memory(self) -> int:
        """Return the bytes that are there for the KV cache."""
        if self.parallel_config.pipeline_parallel_size > 1:
            self.model_runner.profile_run()
        available: int = super().determine_available_memory()
        return available

"""One vLLM server over several Docker hosts, declared: settings, survey, planner and gates.

Nothing below this package imports Pulumi, and ``tandem.gates``, ``tandem.remote`` and ``tandem.ssh``
need the standard library alone, so that ``pulumi destroy`` works without a virtual environment.
"""

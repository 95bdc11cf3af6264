"""One vLLM server over several Docker hosts, declared: settings, survey, planner and gates.

Nothing in this package imports Pulumi, and ``tandem.gates``, ``tandem.remote`` and ``tandem.ssh``
need the standard library alone, so that a gate runs without a virtual environment.
"""

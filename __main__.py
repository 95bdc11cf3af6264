"""Tandem: one large model over several Docker hosts."""

import pulumi

from components import Cluster, end_quietly_when_stopped, read_settings
from tandem.errors import TandemError
from tandem.planner import make_plan, steady
from tandem.survey import survey

end_quietly_when_stopped()
stack = pulumi.get_stack()

try:
    settings = read_settings()
    facts = survey(settings, stack)
    plan = make_plan(settings, facts, stack)
except TandemError as problem:
    raise pulumi.RunError(str(problem)) from None

for finding in plan.warnings:
    pulumi.log.warn(str(finding))

cluster = Cluster(stack, plan)

pulumi.export("endpoint", cluster.endpoint)
pulumi.export("servedName", plan.served_name)
pulumi.export("model", plan.model)
pulumi.export("weights", cluster.weights)
pulumi.export("hosts", {host.name: host.address for host in plan.hosts})
pulumi.export("ranks", {str(rank.rank): rank.host for rank in plan.ranks})
pulumi.export("containers", cluster.containers)
pulumi.export("apiKey", cluster.api_key)
pulumi.export("memory", cluster.memory)
pulumi.export("found", steady(settings, facts))

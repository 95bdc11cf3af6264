"""``python -m tandem``: what the planner and the survey say, without Pulumi."""

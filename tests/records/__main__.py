"""``python -m tests.records`` writes all records: what is compared as a whole, to the byte."""

from tests.records import cases, hosts, stacks

for path, make in (cases.RECORDS | hosts.RECORDS | stacks.RECORDS).items():
    path.parent.mkdir(exist_ok=True)
    path.write_text(make(), encoding="utf-8")

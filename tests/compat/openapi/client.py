"""What a client that is generated from the OpenAPI document does with a server: `client.py ADDRESS`. Prints a line for
each step; a step that fails ends it."""

import sys
import time

from encamp_client import Client
from encamp_client.api.allocations import get_allocation
from encamp_client.api.evaluations import get_evaluation
from encamp_client.api.jobs import delete_job, get_job, get_job_allocations, get_jobs, put_job_plan, put_jobs
from encamp_client.api.nodes_and_node_pools import get_nodes, put_node_eligibility
from encamp_client.api.variables import get_var, put_var
from encamp_client.models import (
    JobPlanRequest,
    JobRegisterRequest,
    NodeUpdateEligibilityRequest,
    VariableRequest,
)

PATIENCE = 60


def step(text):
    print(f"generated client: {text}", flush=True)


def until(what, look):
    """Waits until `look` gives something."""
    end = time.monotonic() + PATIENCE
    while True:
        found = look()
        if found:
            return found
        assert time.monotonic() < end, f"{what} did not come"
        time.sleep(0.05)


JOB = {
    "ID": "made/web",
    "Name": "web",
    "Datacenters": ["*"],
    "TaskGroups": [
        {
            "Name": "group",
            "Count": 2,
            "Tasks": [{"Name": "pretend", "Driver": "mock_driver", "Config": {"run_for": "1h"}}],
        }
    ],
}

client = Client(base_url=sys.argv[1], raise_on_unexpected_status=True)

node = until("a node", lambda: [n for n in get_nodes.sync(client=client) if n.status == "ready"])[0]
step("lists nodes")

plan = put_job_plan.sync(JOB["ID"], client=client, body=JobPlanRequest.from_dict({"Job": JOB, "Diff": True}))
assert plan.diff.type_ == "Added" and plan.annotations.desired_tg_updates["group"].place == 2, plan
assert not get_jobs.sync(client=client)
step("plans a job")

registered = put_jobs.sync(client=client, body=JobRegisterRequest.from_dict({"Job": JOB}))
until("the evaluation", lambda: get_evaluation.sync(registered.eval_id, client=client).status == "complete")
job = get_job.sync(JOB["ID"], client=client)
assert (job.id, job.version, job.task_groups[0].count) == ("made/web", 0, 2), job
step("registers a job with a slash in its ID")


def running():
    allocs = get_job_allocations.sync(JOB["ID"], client=client)
    return len(allocs) == 2 and all(a.client_status == "running" for a in allocs) and allocs


alloc = get_allocation.sync(until("running allocations", running)[0].id, client=client)
assert alloc.node_id == node.id and alloc.allocated_resources.tasks["pretend"].cpu.cpu_shares == 100, alloc
step("reads allocations")

put_var.sync("made/here", client=client, body=VariableRequest.from_dict({"Items": {"a": "b"}}))
assert get_var.sync("made/here", client=client).items.to_dict() == {"a": "b"}
step("writes and reads a variable")

body = NodeUpdateEligibilityRequest.from_dict({"Eligibility": "ineligible"})
put_node_eligibility.sync(node.id, client=client, body=body)
assert get_nodes.sync(client=client)[0].scheduling_eligibility == "ineligible"
step("makes a node ineligible")

stopped = delete_job.sync(JOB["ID"], client=client, purge=True)
assert stopped.eval_id and isinstance(get_job.sync(JOB["ID"], client=client), str), "the job is still there"
step("stops a job")

"""What python-nomad does with a server: `client.py ADDRESS`. Prints a line for each step; a step that fails ends it."""

import queue
import sys
import threading
import time

import nomad
import nomad.api.exceptions as errors

PATIENCE = 60


def step(text):
    print(f"python-nomad: {text}", flush=True)


def until(what, look):
    """Waits until `look` gives something."""
    end = time.monotonic() + PATIENCE
    while True:
        found = look()
        if found:
            return found
        assert time.monotonic() < end, f"{what} did not come"
        time.sleep(0.05)


def job(name, count, text="first"):
    task = {
        "Name": "pretend",
        "Driver": "mock_driver",
        "Config": {"run_for": "1h", "stdout_string": f"{text} words\n"},
        "Resources": {"CPU": 100, "MemoryMB": 64},
    }
    group = {"Name": "group", "Count": count, "Tasks": [task]}
    return {
        "Job": {
            "ID": name,
            "Name": name,
            "Type": "service",
            "Datacenters": ["*"],
            "Meta": {"text": text},
            "Update": {"MaxParallel": 0},
            "TaskGroups": [group],
        }
    }


def running(n, name, count):
    def look():
        all_ = n.job.get_allocations(name)
        now = [a for a in all_ if a["ClientStatus"] == "running" and a["DesiredStatus"] == "run"]
        return (now,) if len(now) == count else None

    return until(f"{count} allocations of {name}", look)[0]


def main(address):
    n = nomad.Nomad(address=address, timeout=PATIENCE)
    name = "from-python"
    (node,) = until("a node", lambda: [x for x in n.nodes.get_nodes() if x["Status"] == "ready"])

    made = n.job.register_job(name, job(name, 2))
    evaluation = until("the evaluation", lambda: n.evaluation.get_evaluation(made["EvalID"]))
    assert evaluation["JobID"] == name and evaluation["TriggeredBy"] == "job-register", evaluation
    running(n, name, 2)
    step(f"registered {name}: 2 allocations run")

    plan = n.job.plan_job(name, job(name, 3), diff=True)
    updates = plan["Annotations"]["DesiredTGUpdates"]["group"]
    assert plan["Diff"]["Type"] == "Edited" and updates["Place"] == 1, plan
    assert n.job.get_job(name)["TaskGroups"][0]["Count"] == 2
    step("planned a third one, nothing changed")

    stale = job(name, 3)
    stale.update(EnforceIndex=True, JobModifyIndex=made["JobModifyIndex"] + 1000)
    try:
        n.job.register_job(name, stale)
        raise AssertionError("a stale index was taken")
    except errors.BaseNomadException as error:
        assert "Enforcing job modify index" in error.nomad_resp.text, error.nomad_resp.text
    current = job(name, 3)
    current.update(EnforceIndex=True, JobModifyIndex=plan["JobModifyIndex"])
    n.job.register_job(name, current)
    allocations = running(n, name, 3)
    step("ran what was planned, with the index checked")

    assert name in [j["ID"] for j in n.jobs.get_jobs()]
    assert n.job.get_summary(name)["Summary"]["group"]["Running"] == 3
    assert len(n.job.get_versions(name)["Versions"]) == 2
    one = n.allocation.get_allocation(allocations[0]["ID"])
    assert one["NodeID"] == node["ID"] and one["TaskStates"]["pretend"]["State"] == "running", one
    logs = n.client.stream_logs.stream(one["ID"], "pretend", "stdout", plain=True)
    assert "first words" in logs, logs
    assert n.client.cat.read_file(one["ID"], path="/alloc/logs/pretend.stdout.0").startswith("first words")
    assert any(m["Name"] == node["Name"] + ".global" for m in n.agent.get_members()["Members"])
    assert n.status.leader.get_leader() and n.namespaces.get_namespaces()[0]["Name"] == "default"
    assert n.search.search("from", "jobs")["Matches"]["jobs"] == [name]
    try:
        n.job.get_job("nothing")
        raise AssertionError("a job that is not there was found")
    except errors.URLNotFoundNomadException as error:
        assert error.nomad_resp.text == "job not found", error.nomad_resp.text
    step("read jobs, versions, allocations, logs, files, members, leader; searched")

    def read(index, wait):
        answer = n.job.request(name, method="get", params={"index": index, "wait": wait})
        return answer.json(), int(answer.headers["X-Nomad-Index"])

    _, index = read(0, "1s")
    begin = time.monotonic()
    unchanged, same = read(index, "300ms")
    assert same == index and unchanged["Meta"]["text"] == "first" and time.monotonic() - begin >= 0.3
    seen = queue.Queue()
    reader = threading.Thread(target=lambda: seen.put(read(index, "60s")), daemon=True)
    reader.start()
    time.sleep(0.2)
    assert seen.empty(), "the answer came before the change"
    n.job.register_job(name, job(name, 3, "second"))
    changed, newer = seen.get(timeout=PATIENCE)
    assert newer > index and changed["Meta"]["text"] == "second"
    running(n, name, 3)
    step("a blocking read woke when the job changed")

    stream, stop, events = n.event.stream.get_stream(index=0, topic={"Job": "*"}, timeout=PATIENCE)
    stream.daemon = True
    stream.start()
    n.job.register_job("streamed", job("streamed", 1))
    event = until("an event", lambda: [e for e in events.get(timeout=PATIENCE)["Events"] if e["Key"] == "streamed"])[0]
    assert event["Topic"] == "Job" and event["Type"] == "JobRegistered", event
    assert event["Payload"]["Job"]["ID"] == "streamed", event
    stop.set()
    n.job.deregister_job("streamed", purge=True)
    step("events were streamed")

    n.node.drain_node_with_spec(node["ID"], {"Deadline": 10**9, "IgnoreSystemJobs": False})
    until("the end of the drain", lambda: not n.node.get_node(node["ID"])["Drain"])
    drained = n.node.get_node(node["ID"])
    assert drained["SchedulingEligibility"] == "ineligible" and drained["LastDrain"]["Status"] == "complete", drained
    running(n, name, 0)
    n.node.eligible_node(node["ID"], eligible=True)
    running(n, name, 3)
    step("drained the node, and took it back")

    n.job.deregister_job(name)
    running(n, name, 0)
    until("the end of the job", lambda: n.job.get_job(name)["Status"] == "dead")
    n.job.deregister_job(name, purge=True)
    assert name not in [j["ID"] for j in n.jobs.get_jobs()]
    n.system.initiate_garbage_collection()
    step("stopped and purged")


main(sys.argv[1])

"""What python-nomad does with access control: `access.py ADDRESS`. Prints a line for each step; a failed step ends it."""

import sys
from urllib.parse import urlparse

import nomad
import nomad.api.exceptions as errors

RULES = 'namespace "default" {\n  policy = "read"\n}\n'


def step(text):
    print(f"python-nomad: {text}", flush=True)


def client(address, token=None):
    place = urlparse(address)
    return nomad.Nomad(host=place.hostname, port=place.port, timeout=60, token=token)


def refused(call):
    try:
        call()
    except errors.URLNotAuthorizedNomadException:
        return True
    return False


def main(address):
    nobody = client(address)
    assert refused(nobody.jobs.get_jobs)
    made = nobody.acl.generate_bootstrap()
    assert made["Type"] == "management" and made["SecretID"], made
    root = client(address, made["SecretID"])
    assert root.jobs.get_jobs() == []
    step("bootstrapped")

    root.acl.create_policy("readers", {"Name": "readers", "Description": "reads", "Rules": RULES})
    assert [p["Name"] for p in root.acl.get_policies()] == ["readers"]
    assert root.acl.get_policy("readers")["Rules"] == RULES
    step("wrote a policy")

    token = root.acl.create_token({"Name": "anna", "Type": "client", "Policies": ["readers"], "Global": False})
    accessor = token["AccessorID"]
    assert root.acl.get_token(accessor)["SecretID"] == token["SecretID"]
    assert sorted(t["Name"] for t in root.acl.get_tokens()) == ["Bootstrap Token", "anna"]
    assert all("SecretID" not in t for t in root.acl.get_tokens())
    step("made a token")

    anna = client(address, token["SecretID"])
    assert anna.jobs.get_jobs() == []
    assert refused(anna.nodes.get_nodes) and refused(anna.acl.get_tokens)
    assert anna.acl.get_self_token()["AccessorID"] == accessor
    step("used the token")

    token["Name"] = "berta"
    assert root.acl.update_token(accessor, token)["Name"] == "berta"
    root.acl.update_policy("readers", {"Name": "readers", "Rules": RULES + 'node {\n  policy = "read"\n}\n'})
    assert anna.nodes.get_nodes() is not None
    step("changed the policy")

    root.acl.delete_token(accessor)
    assert refused(anna.jobs.get_jobs)
    root.acl.delete_policy("readers")
    assert root.acl.get_policies() == []
    step("revoked the token")


main(sys.argv[1])

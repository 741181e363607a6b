//! Jobs that are large or extreme after parsing: defaults, admission and the explanation of problems have the work.

use super::Outcome::{Either, Refused, Valid};
use super::{Add, fill, job, job_with, numbered};

pub(super) fn add(size: usize, add: Add) {
    let group = |i: usize, body: &str| {
        format!("group \"g{i}\" {{\n{body}\ntask \"t\" {{\n driver = \"docker\"\n config {{ image = \"a\" }}\n}}\n}}\n")
    };
    let whole = |inside: String| format!("job \"hostile\" {{\n{inside}\n}}\n");
    for (name, count) in
        [("count-i32", "2147483648"), ("count-i64", "9223372036854775807"), ("count-negative", "-9223372036854775808")]
    {
        add(name, Refused, whole(group(0, &format!("count = {count}"))));
    }
    add("count-limit", Valid, whole(group(0, "count = 50000")));
    add("count-many-groups", Either, whole(numbered(size, |i| group(i, "count = 2147483647"))));
    add("system-count", Refused, whole(format!("type = \"system\"\n{}", group(0, "count = 2147483648"))));
    add("many-groups", Either, whole(numbered(size, |i| group(i, ""))));
    add("many-same-groups", Either, whole(numbered(size, |_| group(0, ""))));
    add("many-empty-groups", Either, whole(numbered(size, |i| format!("group \"g{i}\" {{}}\n"))));
    add(
        "many-tasks",
        Either,
        whole(format!(
            "group \"g\" {{\n{}}}",
            numbered(size, |i| format!("task \"t{i}\" {{\n driver = \"docker\"\n config {{}}\n}}\n"))
        )),
    );
    add("many-bad-tasks", Refused, whole(format!("group \"g\" {{\n{}}}", fill(size, "task \"\" {}\n"))));
    add(
        "long-name-many-errors",
        Refused,
        whole(format!("group \"{}\" {{\n{}}}", fill(size / 2, "g"), fill(size / 2, "task \"\" {}\n"))),
    );
    add("many-constraints", Either, job(&fill(size, "constraint {\n attribute = \"a\"\n value = \"b\"\n}\n")));
    add(
        "many-different-constraints",
        Either,
        job(&numbered(size, |i| format!("constraint {{\n attribute = \"a{i}\"\n value = \"b\"\n}}\n"))),
    );
    add(
        "many-regexes",
        Either,
        job(&fill(size, "constraint {\n attribute = \"a\"\n operator = \"regexp\"\n value = \"\\\\pL{1000}\"\n}\n")),
    );
    add(
        "many-bad-regexes",
        Refused,
        job(&fill(size, "constraint {\n attribute = \"a\"\n operator = \"regexp\"\n value = \"(((((\"\n}\n")),
    );
    add(
        "long-bad-regex",
        Refused,
        job(&format!(
            "constraint {{\n attribute = \"a\"\n operator = \"regexp\"\n value = \"{}\"\n}}\n",
            fill(size, "(a")
        )),
    );
    add(
        "long-class-regex",
        Either,
        job(&format!(
            "constraint {{\n attribute = \"a\"\n operator = \"regexp\"\n value = \"{}\"\n}}\n",
            fill(size, "[[:")
        )),
    );
    add(
        "many-versions",
        Either,
        job(&format!(
            "constraint {{\n attribute = \"a\"\n operator = \"version\"\n value = \"{}\"\n}}\n",
            fill(size, ">= 1.0, ") + "> 1"
        )),
    );
    add(
        "long-version",
        Either,
        job(&format!(
            "constraint {{\n attribute = \"a\"\n operator = \"version\"\n value = \">= 1{}\"\n}}\n",
            fill(size, ".1")
        )),
    );
    add(
        "many-affinities",
        Either,
        job(&numbered(size, |i| format!("affinity {{\n attribute = \"a{i}\"\n value = \"b\"\n weight = 1000\n}}\n"))),
    );
    add(
        "many-spreads",
        Either,
        job(&fill(size, "spread {\n attribute = \"a\"\n target \"x\" {\n percent = 200\n }\n}\n")),
    );
    add(
        "many-spread-targets",
        Either,
        job(&format!(
            "spread {{\n attribute = \"a\"\n{}}}",
            numbered(size, |i| format!("target \"x{i}\" {{\n percent = 1\n }}\n"))
        )),
    );
    add(
        "many-ports",
        Either,
        whole(format!(
            "group \"g\" {{\n network {{\n{}}}\n}}",
            numbered(size, |i| format!("port \"p{i}\" {{\n static = {}\n}}\n", i % 70_000))
        )),
    );
    add(
        "many-networks",
        Either,
        whole(format!("group \"g\" {{\n{}\n}}", fill(size, "network {\n port \"a\" {}\n}\n"))),
    );
    add(
        "many-services",
        Either,
        whole(format!(
            "group \"g\" {{\n{}\n}}",
            numbered(size, |i| format!(
                "service {{\n name = \"s{i}\"\n port = \"p\"\n check {{\n type = \"tcp\"\n }}\n}}\n"
            ))
        )),
    );
    add(
        "many-same-services",
        Either,
        whole(format!("group \"g\" {{\n{}\n}}", fill(size, "service {\n name = \"s\"\n port = \"p\"\n}\n"))),
    );
    add(
        "many-checks",
        Either,
        whole(format!(
            "group \"g\" {{\n service {{\n name = \"s\"\n{}\n}}\n}}",
            fill(size, "check {\n name = \"c\"\n type = \"http\"\n}\n")
        )),
    );
    add(
        "many-connect",
        Either,
        whole(numbered(size, |i| {
            format!(
                "group \"g{i}\" {{\n network {{\n mode = \"bridge\"\n }}\n service {{\n name = \"s\"\n port = \"80\"\n connect {{\n sidecar_service {{}}\n }}\n}}\n}}\n"
            )
        })),
    );
    add(
        "many-connect-services",
        Either,
        whole(format!(
            "group \"g\" {{\n network {{\n mode = \"bridge\"\n }}\n{}\n}}\n",
            numbered(size, |i| format!(
                "service {{\n name = \"s{i}\"\n port = \"80\"\n connect {{\n sidecar_service {{}}\n }}\n}}\n"
            ))
        )),
    );
    add(
        "many-upstreams",
        Either,
        whole(format!(
            "group \"g\" {{\n network {{\n mode = \"bridge\"\n }}\n service {{\n name = \"s\"\n port = \"80\"\n connect {{\n sidecar_service {{\n proxy {{\n{}\n}}\n}}\n}}\n}}\n}}\n",
            numbered(size, |i| format!("upstreams {{\n destination_name = \"s{i}\"\n local_bind_port = 80\n}}\n"))
        )),
    );
    add(
        "many-gateway-services",
        Either,
        whole(format!(
            "group \"g\" {{\n network {{\n mode = \"bridge\"\n }}\n service {{\n name = \"s\"\n port = \"80\"\n connect {{\n gateway {{\n ingress {{\n listener {{\n port = 1\n protocol = \"http\"\n{}\n}}\n}}\n}}\n}}\n}}\n}}\n",
            numbered(size, |i| format!("service {{\n name = \"s{i}\"\n hosts = [\"a\"]\n}}\n"))
        )),
    );
    add(
        "many-templates",
        Either,
        job_with(
            "",
            "",
            &numbered(size, |i| format!("template {{\n data = \"x\"\n destination = \"local/{i}\"\n}}\n")),
        ),
    );
    add(
        "many-same-templates",
        Either,
        job_with("", "", &fill(size, "template {\n data = \"x\"\n destination = \"local/a\"\n}\n")),
    );
    add(
        "many-artifacts",
        Either,
        job_with("", "", &numbered(size, |i| format!("artifact {{\n source = \"http://x/{i}\"\n}}\n"))),
    );
    add(
        "artifact-climbs",
        Either,
        job_with("", "", &format!("artifact {{\n source = \"a\"\n destination = \"{}\"\n}}\n", fill(size, "../"))),
    );
    add(
        "many-volumes",
        Either,
        whole(format!(
            "group \"g\" {{\n{}\n}}",
            numbered(size, |i| format!("volume \"v{i}\" {{\n type = \"host\"\n source = \"s\"\n}}\n"))
        )),
    );
    add(
        "many-mounts",
        Either,
        job_with(
            "",
            "",
            &numbered(size, |i| format!("volume_mount {{\n volume = \"v{i}\"\n destination = \"/a\"\n}}\n")),
        ),
    );
    add(
        "many-devices",
        Either,
        job_with(
            "",
            "",
            &format!("resources {{\n{}\n}}", numbered(size, |i| format!("device \"a/b/c{i}\" {{\n count = 1\n}}\n"))),
        ),
    );
    add(
        "many-identities",
        Either,
        job_with("", "", &numbered(size, |i| format!("identity {{\n name = \"a{i}\"\n aud = [\"x\"]\n}}\n"))),
    );
    add("many-same-identities", Either, job_with("", "", &fill(size, "identity {\n name = \"a\"\n}\n")));
    add(
        "many-actions",
        Either,
        job_with("", "", &numbered(size, |i| format!("action \"a{i}\" {{\n command = \"x\"\n}}\n"))),
    );
    add("many-datacenters", Either, job(&format!("datacenters = [{}]", numbered(size, |i| format!("\"dc{i}\", ")))));
    add("many-meta", Valid, job(&format!("meta {{\n{}\n}}", numbered(size, |i| format!("a{i} = \"x\"\n")))));
    add("many-env", Valid, job_with("", "", &format!("env {{\n{}\n}}", numbered(size, |i| format!("a{i} = \"x\"\n")))));
    add(
        "many-dispatch-keys",
        Either,
        job(&format!(
            "parameterized {{\n meta_required = [{}]\n meta_optional = [{}]\n}}",
            numbered(size / 2, |i| format!("\"a{i}\", ")),
            numbered(size / 2, |i| format!("\"a{i}\", "))
        )),
    );
    add(
        "many-regions",
        Either,
        job(&format!("multiregion {{\n{}\n}}", numbered(size, |i| format!("region \"r{i}\" {{\n count = 1\n}}\n")))),
    );
    add(
        "many-links",
        Either,
        job(&format!(
            "ui {{\n{}\n}}",
            numbered(size, |i| format!("link {{\n label = \"{i}\"\n url = \"http://x\"\n}}\n"))
        )),
    );
    add("long-cron", Either, job(&format!("type = \"batch\"\nperiodic {{\n crons = [\"{}\"]\n}}", fill(size, "1,"))));
    add("cron-never", Either, job("type = \"batch\"\nperiodic {\n crons = [\"0 0 31 2 *\"]\n}"));
    add(
        "many-crons",
        Either,
        job(&format!("type = \"batch\"\nperiodic {{\n crons = [{}]\n}}", fill(size, "\"0 0 31 2 *\", "))),
    );
    add(
        "durations",
        Either,
        job_with("", "", "kill_timeout = \"9999999999999999999h\"\nshutdown_delay = -9223372036854775808"),
    );
    add(
        "giant-resources",
        Either,
        job_with(
            "",
            "",
            "resources {\n cpu = 9223372036854775807\n memory = 9223372036854775807\n memory_max = -9223372036854775808\n}",
        ),
    );
    add(
        "giant-intervals",
        Either,
        whole(group(
            0,
            "restart {\n attempts = 9223372036854775807\n interval = \"1ns\"\n delay = 9223372036854775807\n}\nreschedule {\n attempts = 9223372036854775807\n interval = \"1ns\"\n delay = \"5s\"\n max_delay = \"2562047h\"\n delay_function = \"fibonacci\"\n}\nupdate {\n max_parallel = 9223372036854775807\n canary = 9223372036854775807\n}",
        )),
    );
    add(
        "numa-cores",
        Either,
        job_with("", "", "resources {\n cores = 2147483647\n numa {\n affinity = \"require\"\n }\n}"),
    );
    add(
        "scaling",
        Either,
        whole(group(
            0,
            "scaling {\n min = -9223372036854775808\n max = 9223372036854775807\n policy {\n a = 1e300\n }\n}",
        )),
    );
    add("many-config-blocks", Either, job_with("", "", &format!("config {{\n{}}}", fill(size, "a {}\n"))));
    add("config-deep", Either, job_with("", "", &format!("config {{\n a = {}{}\n}}", "[".repeat(60), "]".repeat(60))));
    add(
        "config-wide",
        Either,
        job_with("", "", "").replace("image = \"redis:7\"", &format!("image = \"x\"\n a = [{}]", fill(size, "1, "))),
    );
}

//! Services of groups and tasks (`docs/spec/jobspec.md §14.12`).

use std::collections::{BTreeMap, BTreeSet};

use super::check;
use super::connect::{connect, has_sidecar};
use super::errors::Errors;
use encamp_model::quoted;
use encamp_model::{NetworkResource, Service, ServiceCheck, Task, TaskGroup};

/// The errors of a group about its services and those of its tasks, each service by itself left to [`task_services`].
pub(super) fn group_services(group: &TaskGroup) -> Vec<String> {
    let mut errors = Errors::default();
    owners(group, &mut errors);
    for (i, s) in group.services.iter().enumerate() {
        let items = service(s);
        if items.is_empty() {
            of_group(group, s, &mut errors);
        } else {
            errors.nest(format_args!("Service[{i}] {} validation failed: ", s.name), items);
        }
    }
    let all = || group.services.iter().map(|s| ("group", s)).chain(task_services_of(group));
    let mut seen = BTreeSet::new();
    let twice: BTreeSet<String> = all()
        .filter(|(owner, s)| !seen.insert((*owner, &s.name, &s.port_label)))
        .map(|(owner, s)| match s.port_label.as_str() {
            "" => format!("{owner}->{}", s.name),
            port => format!("{owner}->{}:{port}", s.name),
        })
        .collect();
    if !twice.is_empty() {
        let list: Vec<String> = twice.into_iter().collect();
        errors.add(format!("Services are not unique: [{}]", list.join(" ")));
    }
    let providers: BTreeSet<&str> = all().map(|(_, s)| provider(s)).collect();
    errors
        .add_if(providers.len() > 1, "Multiple service providers used: task group services must use the same provider");
    errors.into_items()
}

/// The services of the tasks of a group, with the names of the tasks.
fn task_services_of(group: &TaskGroup) -> impl Iterator<Item = (&str, &Service)> {
    group.tasks.iter().flat_map(|t| t.services.iter().map(move |s| (t.name.as_str(), s)))
}

/// Services of tasks, and their checks, that name another task than their own.
fn owners(group: &TaskGroup, errors: &mut Errors) {
    let wrong_task = |kind: &str, name: &str, task: &str| {
        format!(
            "{kind} {name} is invalid: may only specify task the {} belongs to, got {}",
            kind.to_lowercase(),
            quoted(task)
        )
    };
    for (owner, s) in task_services_of(group) {
        let elsewhere = |task: &str| !task.is_empty() && task != owner;
        errors.add_if(elsewhere(&s.task_name), wrong_task("Service", &s.name, &s.task_name));
        for c in &s.checks {
            errors.add_if(elsewhere(&c.task_name), wrong_task("Check", &c.name, &c.task_name));
        }
    }
}

/// What only services of tasks may do, and tasks that do not exist.
fn of_group(group: &TaskGroup, s: &Service, errors: &mut Errors) {
    errors.add_if(
        s.address_mode == "driver",
        format_args!(
            "service {} cannot use address_mode=\"driver\", only services defined in a \"task\" block can use this mode",
            quoted(&s.name)
        ),
    );
    for c in s.checks.iter().filter(|c| !c.task_name.is_empty()) {
        errors.add_if(
            c.address_mode == "driver",
            format_args!(
                "Check {} invalid: cannot use address_mode=\"driver\", only checks defined in a \"task\" service \
                 block can use this mode",
                quoted(&s.name)
            ),
        );
        errors.add_if(
            !group.tasks.iter().any(|t| t.name == c.task_name),
            format_args!("Check {} invalid: refers to non-existent task {}", c.name, c.task_name),
        );
    }
}

/// Script checks of group services run in a task, so they name one.
pub(super) fn script_checks(group: &TaskGroup) -> Vec<String> {
    let mut errors = Errors::default();
    for s in &group.services {
        for c in s.checks.iter().filter(|c| c.r#type.eq_ignore_ascii_case("script")) {
            errors.add_if(
                s.task_name.is_empty() && c.task_name.is_empty(),
                format_args!("Service [{}]->{} or Check {} must specify task parameter", group.name, s.name, c.name),
            );
        }
    }
    errors.into_items()
}

fn provider(s: &Service) -> &str {
    if s.provider.is_empty() { "consul" } else { &s.provider }
}

/// The errors of one service.
fn service(s: &Service) -> Vec<String> {
    let mut errors = Errors::default();
    let name = without_references(&s.name);
    errors.add_if(
        !is_service_name(&name),
        format_args!(
            "Service name must be valid per RFC 1123 and can contain only alphanumeric characters or dashes and must be \
             no longer than 63 characters: {}",
            quoted(&s.name)
        ),
    );
    errors.add_if(
        !matches!(s.address_mode.as_str(), "" | "auto" | "host" | "driver" | "alloc" | "alloc_ipv6"),
        format_args!("Service address_mode must be \"auto\", \"host\", or \"driver\"; not {}", quoted(&s.address_mode)),
    );
    errors.add_if(
        !s.address.is_empty() && !matches!(s.address_mode.as_str(), "" | "auto"),
        "Service address_mode must be \"auto\" if address is set",
    );
    errors.add_if(
        !matches!(s.on_update.as_str(), "" | "require_healthy" | "ignore_warnings" | "ignore"),
        format_args!(
            "Service on_update must be \"require_healthy\", \"ignore_warnings\", or \"ignore\"; not {}",
            quoted(&s.on_update)
        ),
    );
    errors.add_if(
        !matches!(provider(s), "consul" | "nomad"),
        format_args!("Service provider must be \"consul\", or \"nomad\"; not {}", quoted(provider(s))),
    );
    errors.add_if(
        s.identity.as_ref().is_some_and(|i| i.audience.is_empty()),
        "Service identity must provide at least one target aud value",
    );
    match provider(s) {
        "consul" => consul_service(&mut errors, s),
        "nomad" => {
            errors.flatten(s.checks.iter().filter_map(|c| missing_port(s, c).or_else(|| check::nomad(c))));
            errors.add_if(s.connect.is_some(), "Service with provider nomad cannot include Connect blocks");
        }
        _ => {}
    }
    errors.into_items()
}

const KINDS: [&str; 5] = ["", "api-gateway", "ingress-gateway", "mesh-gateway", "terminating-gateway"];

fn consul_service(errors: &mut Errors, s: &Service) {
    for c in &s.checks {
        let text = missing_port(s, c).or_else(|| {
            let tcp_beside_sidecar = c.r#type.eq_ignore_ascii_case("tcp") && has_sidecar(s);
            let text = if tcp_beside_sidecar {
                Some("tcp checks are not valid for Connect enabled services".to_string())
            } else {
                check::consul(c)
            };
            text.map(|t| format!("Check {} invalid: {t}", c.name))
        });
        errors.flatten(text);
    }
    errors.add_if(
        !KINDS.contains(&s.kind.as_str()),
        format_args!("Service {} kind must be one of consul service kind or empty", s.name),
    );
    let Some(c) = &s.connect else { return };
    errors.flatten(connect(c));
    for (what, value) in [("task", &s.task_name), ("port", &s.port_label)] {
        errors.add_if(
            c.native && value.is_empty(),
            format_args!("Service {} is Connect Native and requires setting the {what}", s.name),
        );
    }
}

fn missing_port(s: &Service, c: &ServiceCheck) -> Option<String> {
    (check::needs_port(c) && c.port_label.is_empty() && s.port_label.is_empty()).then(|| {
        let service = quoted(&s.name);
        format!("Check {} invalid: check requires a port but neither check nor service {service} have a port", c.name)
    })
}

/// The name with every `${…}` replaced by `ENV-VAR`.
fn without_references(name: &str) -> String {
    let mut out = String::new();
    let mut rest = name;
    while let Some((before, after)) = rest.split_once("${") {
        let Some((_, after)) = after.split_once('}') else { break };
        out.push_str(before);
        out.push_str("ENV-VAR");
        rest = after;
    }
    out + rest
}

/// 1 to 63 letters, digits and dashes, no dash at either end.
fn is_service_name(name: &str) -> bool {
    (1..=63).contains(&name.len())
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
        && !name.starts_with('-')
        && !name.ends_with('-')
}

const ALLOC_ONLY: &str = "only services defined in a \"group\" block can use this mode";

fn is_alloc_mode(mode: &str) -> bool {
    matches!(mode, "alloc" | "alloc_ipv6")
}

/// The errors of a task about its services. Port labels are those of the task and of the group's first network.
pub(super) fn task_services(task: &Task, group: &TaskGroup) -> Vec<String> {
    let mut errors = Errors::default();
    let mut names = BTreeSet::new();
    let mut referenced: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (i, s) in task.services.iter().enumerate() {
        let name = quoted(&s.name);
        errors.nest(format_args!("service[{i}] {name} validation failed: "), service(s));
        errors.add_if(
            is_alloc_mode(&s.address_mode),
            format_args!("service {name} cannot use address_mode={}, {ALLOC_ONLY}", quoted(&s.address_mode)),
        );
        errors.add_if(!names.insert((&s.name, &s.port_label)), format_args!("service {name} is duplicate"));
        errors.add_if(
            s.connect.is_some(),
            format_args!(
                "service {name} cannot have \"connect\" block, only services defined in a \"group\" block can"
            ),
        );
        let numeric = s.port_label.parse::<i64>().is_ok();
        if !s.port_label.is_empty() && (!numeric || s.address_mode != "driver") {
            referenced.entry(&s.port_label).or_default().insert(&s.name);
        }
        task_checks(&mut errors, s, &mut referenced);
    }
    let first = group.networks.first();
    let own = task.resources.iter().flat_map(|r| &r.networks);
    let labels: BTreeSet<&str> = first.into_iter().chain(own).flat_map(port_labels).collect();
    for (label, services) in referenced.into_iter().filter(|(label, _)| !labels.contains(label)) {
        let services: Vec<&str> = services.into_iter().collect();
        errors.add(format!(
            "port label {} referenced by services {} does not exist",
            quoted(label),
            services.join(", ")
        ));
    }
    errors.into_items()
}

fn port_labels(network: &NetworkResource) -> impl Iterator<Item = &str> {
    network.reserved_ports.iter().chain(&network.dynamic_ports).map(|p| p.label.as_str())
}

fn task_checks<'a>(errors: &mut Errors, s: &'a Service, referenced: &mut BTreeMap<&'a str, BTreeSet<&'a str>>) {
    let mut names = BTreeSet::new();
    for c in &s.checks {
        let name = quoted(&c.name);
        errors.add_if(!names.insert(&c.name), format_args!("check {name} is duplicate"));
        errors.add_if(
            is_alloc_mode(&c.address_mode),
            format_args!("check {} cannot use address_mode={}, {ALLOC_ONLY}", quoted(&s.name), quoted(&c.address_mode)),
        );
        if !check::needs_port(c) {
            continue;
        }
        // A check without a port of its own probes the service's.
        let port = if c.port_label.is_empty() { &s.port_label } else { &c.port_label };
        let number = port.parse::<i64>();
        match (number, c.address_mode == "driver") {
            _ if port.is_empty() => errors.add(format!("check {name} is missing a port")),
            (Ok(n), true) => errors.add_if(n <= 0, format_args!("check {name} has invalid numeric port {n}")),
            (Ok(n), false) => errors
                .add(format!("check {name} cannot use a numeric port {n} without setting address_mode=\"driver\"")),
            (Err(_), _) => {
                referenced.entry(port).or_default().insert(&s.name);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use encamp_model::{ConsulConnect, ConsulSidecarService, Port, SECOND, WorkloadIdentity};

    fn named(name: &str) -> Service {
        Service { name: name.into(), port_label: "http".into(), provider: "consul".into(), ..Service::default() }
    }

    fn tcp(name: &str) -> ServiceCheck {
        ServiceCheck {
            name: name.into(),
            r#type: "tcp".into(),
            interval: 10 * SECOND,
            timeout: 2 * SECOND,
            ..ServiceCheck::default()
        }
    }

    fn network(label: &str) -> NetworkResource {
        let port = Port { label: label.into(), ..Port::default() };
        NetworkResource { dynamic_ports: vec![port], ..NetworkResource::default() }
    }

    fn native() -> Option<ConsulConnect> {
        Some(ConsulConnect { native: true, ..ConsulConnect::default() })
    }

    #[test]
    fn service_texts() {
        let rfc = |n: &str| {
            format!(
                "Service name must be valid per RFC 1123 and can contain only alphanumeric characters or dashes and must \
                 be no longer than 63 characters: \"{n}\""
            )
        };
        let nomad = |s: Service| Service { provider: "nomad".into(), ..s };
        for (s, want) in [
            (named("web-1"), vec![]),
            (named("web-${NOMAD_META_x.y}"), vec![]),
            (named(""), vec![rfc("")]),
            (named("a_b"), vec![rfc("a_b")]),
            (named("-a"), vec![rfc("-a")]),
            (named("${a"), vec![rfc("${a")]),
            (named(&"x".repeat(64)), vec![rfc(&"x".repeat(64))]),
            (
                Service { address_mode: "magic".into(), ..named("a") },
                vec!["Service address_mode must be \"auto\", \"host\", or \"driver\"; not \"magic\"".into()],
            ),
            (
                Service { address_mode: "host".into(), address: "x".into(), ..named("a") },
                vec!["Service address_mode must be \"auto\" if address is set".into()],
            ),
            (
                Service { on_update: "shrug".into(), ..named("a") },
                vec![
                    "Service on_update must be \"require_healthy\", \"ignore_warnings\", or \"ignore\"; not \"shrug\""
                        .into(),
                ],
            ),
            (
                Service { provider: "etcd".into(), ..named("a") },
                vec!["Service provider must be \"consul\", or \"nomad\"; not \"etcd\"".into()],
            ),
            (
                Service { identity: Some(WorkloadIdentity::default()), ..named("a") },
                vec!["Service identity must provide at least one target aud value".into()],
            ),
            (
                Service { kind: "odd".into(), ..named("a") },
                vec!["Service a kind must be one of consul service kind or empty".into()],
            ),
            (Service { kind: "api-gateway".into(), ..named("a") }, vec![]),
            (
                Service { port_label: "".into(), connect: native(), ..named("a") },
                vec![
                    "Service a is Connect Native and requires setting the task".into(),
                    "Service a is Connect Native and requires setting the port".into(),
                ],
            ),
            (
                Service { port_label: "".into(), checks: vec![tcp("c")], ..named("a") },
                vec!["Check c invalid: check requires a port but neither check nor service \"a\" have a port".into()],
            ),
            (
                Service {
                    checks: vec![tcp("c")],
                    connect: Some(ConsulConnect {
                        sidecar_service: Some(ConsulSidecarService::default()),
                        ..ConsulConnect::default()
                    }),
                    ..named("a")
                },
                vec!["Check c invalid: tcp checks are not valid for Connect enabled services".into()],
            ),
            (
                Service { checks: vec![ServiceCheck { timeout: 0, ..tcp("c") }], ..named("a") },
                vec!["Check c invalid: missing required value timeout. Timeout cannot be less than 1s".into()],
            ),
            (
                nomad(Service { checks: vec![ServiceCheck { timeout: 0, ..tcp("c") }], ..named("a") }),
                vec!["missing required value timeout. Timeout cannot be less than 1s".into()],
            ),
            (
                nomad(Service { connect: native(), ..named("a") }),
                vec!["Service with provider nomad cannot include Connect blocks".into()],
            ),
        ] {
            assert_eq!(service(&s), want, "{s:?}");
        }
    }

    #[test]
    fn group_texts() {
        let on_task = |task: &str, c: ServiceCheck| ServiceCheck { task_name: task.into(), ..c };
        let driver = |c: ServiceCheck| ServiceCheck { address_mode: "driver".into(), ..c };
        let task = Task {
            name: "t".into(),
            services: vec![
                Service { task_name: "other".into(), checks: vec![on_task("else", tcp("c"))], ..named("a") },
                Service { provider: "nomad".into(), ..named("twin") },
                Service { provider: "nomad".into(), ..named("twin") },
            ],
            ..Task::default()
        };
        let group = TaskGroup {
            name: "g".into(),
            services: vec![
                named("bad_name"),
                Service { address_mode: "driver".into(), ..named("drv") },
                Service { checks: vec![driver(on_task("t", tcp("x"))), on_task("ghost", tcp("y"))], ..named("chk") },
                Service { checks: vec![driver(tcp("x"))], ..named("twin") },
                named("twin"),
                named("twin"),
            ],
            tasks: vec![task],
            ..TaskGroup::default()
        };
        assert_eq!(
            group_services(&group),
            [
                "Service a is invalid: may only specify task the service belongs to, got \"other\"",
                "Check c is invalid: may only specify task the check belongs to, got \"else\"",
                "Service[0] bad_name validation failed: 1 error occurred:\n\t* Service name must be valid per RFC 1123 and \
                 can contain only alphanumeric characters or dashes and must be no longer than 63 characters: \
                 \"bad_name\"\n\n",
                "service \"drv\" cannot use address_mode=\"driver\", only services defined in a \"task\" block can use \
                 this mode",
                "Check \"chk\" invalid: cannot use address_mode=\"driver\", only checks defined in a \"task\" service \
                 block can use this mode",
                "Check y invalid: refers to non-existent task ghost",
                "Services are not unique: [group->twin:http t->twin:http]",
                "Multiple service providers used: task group services must use the same provider",
            ]
        );
    }

    #[test]
    fn script_checks_name_a_task() {
        let script = |task: &str| ServiceCheck { r#type: "script".into(), task_name: task.into(), ..tcp("c") };
        let group = |s: Service| TaskGroup { name: "g".into(), services: vec![s], ..TaskGroup::default() };
        assert_eq!(
            script_checks(&group(Service { checks: vec![script(""), script("t"), tcp("d")], ..named("s") })),
            ["Service [g]->s or Check c must specify task parameter"]
        );
        let on_task = Service { task_name: "t".into(), checks: vec![script("")], ..named("s") };
        assert!(script_checks(&group(on_task)).is_empty());
    }

    #[test]
    fn task_texts() {
        let port = |label: &str, c: ServiceCheck| ServiceCheck { port_label: label.into(), ..c };
        let mode = |m: &str, c: ServiceCheck| ServiceCheck { address_mode: m.into(), ..c };
        let group = TaskGroup { networks: vec![network("http"), network("second")], ..TaskGroup::default() };
        let one = |s: Service| task_services(&Task { services: vec![s], ..Task::default() }, &group);
        let none: [&str; 0] = [];
        assert_eq!(one(named("a")), none);
        assert_eq!(
            one(Service { address_mode: "alloc_ipv6".into(), ..named("a") }),
            [
                "service \"a\" cannot use address_mode=\"alloc_ipv6\", only services defined in a \"group\" block can use this \
              mode"
            ]
        );
        assert_eq!(
            one(Service { task_name: "t".into(), connect: native(), ..named("a") }),
            ["service \"a\" cannot have \"connect\" block, only services defined in a \"group\" block can"]
        );
        assert_eq!(
            one(named("a_b")),
            [
                "service[0] \"a_b\" validation failed: 1 error occurred:\n\t* Service name must be valid per RFC 1123 and can \
              contain only alphanumeric characters or dashes and must be no longer than 63 characters: \"a_b\"\n\n"
            ]
        );
        assert_eq!(
            one(Service {
                checks: vec![
                    tcp("same"),
                    tcp("same"),
                    mode("alloc", tcp("m")),
                    mode("driver", port("-1", tcp("n"))),
                    mode("driver", port("80", tcp("o"))),
                    port("80", tcp("p")),
                    port("gone", tcp("q")),
                ],
                ..named("a")
            }),
            [
                "check \"same\" is duplicate",
                "check \"a\" cannot use address_mode=\"alloc\", only services defined in a \"group\" block can use this \
                 mode",
                "check \"n\" has invalid numeric port -1",
                "check \"p\" cannot use a numeric port 80 without setting address_mode=\"driver\"",
                "port label \"gone\" referenced by services a does not exist",
            ]
        );
        let portless = Service { port_label: "".into(), checks: vec![tcp("c")], ..named("a") };
        assert_eq!(one(portless).last().map(String::as_str), Some("check \"c\" is missing a port"));
        let script = ServiceCheck { r#type: "script".into(), command: "/bin/true".into(), ..tcp("c") };
        let portless = Service { port_label: "".into(), checks: vec![script], ..named("a") };
        assert_eq!(one(portless), none);
        let numeric = |m: &str| Service { port_label: "80".into(), address_mode: m.into(), ..named("a") };
        assert_eq!(one(numeric("driver")), none);
        assert_eq!(one(numeric("host")), ["port label \"80\" referenced by services a does not exist"]);
        let services = [("b", "second"), ("a", "second"), ("x", "http"), ("x", "http"), ("x", "own")]
            .map(|(name, label)| Service { port_label: label.into(), ..named(name) });
        let task = Task {
            services: services.into(),
            resources: Some(encamp_model::Resources { networks: vec![network("own")], ..Default::default() }),
            ..Task::default()
        };
        assert_eq!(
            task_services(&task, &group),
            ["service \"x\" is duplicate", "port label \"second\" referenced by services a, b does not exist"]
        );
    }
}

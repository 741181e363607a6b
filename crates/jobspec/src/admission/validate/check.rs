//! Health checks of services (`docs/spec/jobspec.md §14.12`).

use super::errors::{Errors, error_list};
use encamp_model::quoted;
use encamp_model::{SECOND, ServiceCheck, format_duration};

const MAX_NOTES: usize = 255;

/// Whether the check probes a port.
pub(super) fn needs_port(check: &ServiceCheck) -> bool {
    matches!(check.r#type.to_lowercase().as_str(), "tcp" | "http" | "grpc")
}

/// The first rule of checks of Consul services that the check breaks.
pub(super) fn consul(check: &ServiceCheck) -> Option<String> {
    common(check, &["grpc", "tcp", "http", "script"]).or_else(|| {
        let kind = check.r#type.to_lowercase();
        if check.expose && !matches!(kind.as_str(), "http" | "grpc") {
            return Some("expose may only be set on HTTP or gRPC checks".into());
        }
        if !needs_port(check)
            && let Some((name, _)) = thresholds(check).into_iter().find(|(_, n)| *n > 0)
        {
            return Some(format!("{name} not supported for check of type {}", quoted(&check.r#type)));
        }
        (check.notes.len() > MAX_NOTES).then(|| format!("notes must not be longer than {MAX_NOTES} characters"))
    })
}

/// The first rule of checks of Nomad services that the check breaks.
pub(super) fn nomad(check: &ServiceCheck) -> Option<String> {
    let only_consul = |name: &str| Some(format!("{name} may only be set for Consul service checks"));
    common(check, &["tcp", "http"]).or_else(|| {
        if check.expose {
            return only_consul("expose");
        }
        if check.on_update == "ignore_warnings" {
            return Some("on_update may only be set to ignore_warnings for Consul service checks".into());
        }
        if check.check_restart.as_ref().is_some_and(|r| r.ignore_warnings) {
            return Some("ignore_warnings on check_restart only supported for Consul service checks".into());
        }
        if check.address_mode == "driver" {
            return only_consul("address_mode = driver");
        }
        let method = check.method.to_uppercase();
        if check.r#type.eq_ignore_ascii_case("http") && !method.is_empty() && !HTTP_METHODS.contains(&method.as_str()) {
            return Some(format!("method type {} not supported in Nomad http check", quoted(&check.method)));
        }
        if let Some((name, _)) = thresholds(check).into_iter().find(|(_, n)| *n > 0) {
            return only_consul(name);
        }
        if check.tls_server_name.is_empty() { None } else { only_consul("tls_server_name") }
    })
}

const HTTP_METHODS: [&str; 9] = ["GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH"];

fn thresholds(check: &ServiceCheck) -> [(&'static str, i64); 3] {
    [
        ("success_before_passing", check.success_before_passing),
        ("failures_before_critical", check.failures_before_critical),
        ("failures_before_warning", check.failures_before_warning),
    ]
}

/// The rules both kinds of services share.
fn common(check: &ServiceCheck, types: &[&str]) -> Option<String> {
    let kind = check.r#type.to_lowercase();
    if !types.contains(&kind.as_str()) {
        return Some(format!("invalid check type ({}), must be one of {}", quoted(&check.r#type), types.join(", ")));
    }
    match kind.as_str() {
        "http" => {
            if let Some(text) = http_path(&check.path) {
                return Some(format!("http type must have {text}"));
            }
        }
        "script" if check.command.is_empty() => return Some("script type must have a valid script path".into()),
        _ => {}
    }
    if let Some(text) = times(check) {
        return Some(text);
    }
    if !matches!(check.initial_status.as_str(), "" | "passing" | "warning" | "critical") {
        return Some(format!(
            "invalid initial check state ({}), must be one of \"passing\", \"warning\", \"critical\" or empty",
            check.initial_status
        ));
    }
    match check.address_mode.as_str() {
        "" | "host" | "driver" | "alloc" | "alloc_ipv6" => {}
        "auto" => return Some("invalid address_mode \"auto\" - auto only valid for services".into()),
        other => return Some(format!("invalid address_mode {}", quoted(other))),
    }
    on_update(check)
}

fn times(check: &ServiceCheck) -> Option<String> {
    let [interval, timeout, least] = [check.interval, check.timeout, SECOND].map(format_duration);
    if check.interval == 0 {
        return Some(format!("missing required value interval. Interval cannot be less than {least}"));
    }
    if check.interval < SECOND {
        return Some(format!("interval ({interval}) cannot be lower than {least}"));
    }
    if check.timeout == 0 {
        return Some(format!("missing required value timeout. Timeout cannot be less than {least}"));
    }
    (check.timeout < SECOND).then(|| format!("timeout ({timeout}) is lower than required minimum timeout {least}"))
}

fn on_update(check: &ServiceCheck) -> Option<String> {
    if !matches!(check.on_update.as_str(), "" | "require_healthy" | "ignore_warnings" | "ignore") {
        return Some(format!(
            "on_update must be \"require_healthy\", \"ignore_warnings\", or \"ignore\"; got {}",
            quoted(&check.on_update)
        ));
    }
    let restart = check.check_restart.as_ref()?;
    if check.on_update == "ignore" {
        return Some("on_update value \"ignore\" is not compatible with check_restart".into());
    }
    if check.on_update == "ignore_warnings" && !restart.ignore_warnings {
        return Some(
            "on_update value \"ignore_warnings\" not supported with check_restart ignore_warnings value \"false\""
                .into(),
        );
    }
    let mut errors = Errors::default();
    errors.add_if(
        restart.limit < 0,
        format_args!("limit must be greater than or equal to 0 but found {}", restart.limit),
    );
    errors.add_if(
        restart.grace < 0,
        format_args!("grace period must be greater than or equal to 0 but found {}", restart.grace),
    );
    if errors.is_empty() { None } else { Some(error_list(&errors.into_items())) }
}

/// The requirement that the path of an HTTP check violates. It is read as a URL reference.
fn http_path(path: &str) -> Option<&'static str> {
    if path.is_empty() {
        return Some("http path");
    }
    let valid = "valid http path";
    if path.chars().any(|c| c.is_ascii_control()) {
        return Some(valid);
    }
    let (before_fragment, fragment) = path.split_once('#').unwrap_or((path, ""));
    let location = before_fragment.split_once('?').map_or(before_fragment, |(l, _)| l);
    if !percent_encoding_is_valid(location) || !percent_encoding_is_valid(fragment) {
        return Some(valid);
    }
    let segment = location.split('/').next().unwrap_or("");
    let (scheme, _) = segment.split_once(':')?;
    let mut chars = scheme.chars();
    let is_scheme = chars.next().is_some_and(|c| c.is_ascii_alphabetic())
        && chars.all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'));
    // A colon in the first segment that ends no scheme does not parse.
    Some(if is_scheme { "relative http path" } else { valid })
}

fn percent_encoding_is_valid(s: &str) -> bool {
    let hex = |b: Option<&u8>| b.is_some_and(u8::is_ascii_hexdigit);
    let b = s.as_bytes();
    b.iter().enumerate().all(|(i, c)| *c != b'%' || (hex(b.get(i + 1)) && hex(b.get(i + 2))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use encamp_model::CheckRestart;

    fn check(r#type: &str) -> ServiceCheck {
        ServiceCheck {
            r#type: r#type.into(),
            path: "/".into(),
            command: "/x".into(),
            interval: 10 * SECOND,
            timeout: 2 * SECOND,
            ..ServiceCheck::default()
        }
    }

    fn restart(limit: i64, grace: i64, ignore_warnings: bool) -> Option<CheckRestart> {
        Some(CheckRestart { limit, grace, ignore_warnings })
    }

    /// A change to a good TCP, HTTP or script check and the text it causes.
    type Case = (&'static str, fn(&mut ServiceCheck), &'static str);

    fn run(rule: fn(&ServiceCheck) -> Option<String>, cases: &[Case]) {
        for (kind, change, want) in cases {
            let mut c = check(kind);
            change(&mut c);
            assert_eq!(rule(&c).unwrap_or_default(), *want, "{c:?}");
        }
    }

    const COMMON: &[Case] = &[
        ("tcp", |_| {}, ""),
        ("HTTP", |_| {}, ""),
        ("http", |c| c.path = "".into(), "http type must have http path"),
        ("http", |c| c.path = "/%zz".into(), "http type must have valid http path"),
        ("http", |c| c.path = "/\n".into(), "http type must have valid http path"),
        ("http", |c| c.path = ":x".into(), "http type must have valid http path"),
        ("http", |c| c.path = "http://a/b".into(), "http type must have relative http path"),
        ("http", |c| c.path = "/a?b=%zz:c".into(), ""),
        ("tcp", |c| c.interval = 0, "missing required value interval. Interval cannot be less than 1s"),
        ("tcp", |c| c.interval = 10_000_000, "interval (10ms) cannot be lower than 1s"),
        ("tcp", |c| c.timeout = 0, "missing required value timeout. Timeout cannot be less than 1s"),
        ("tcp", |c| c.timeout = 10_000_000, "timeout (10ms) is lower than required minimum timeout 1s"),
        (
            "tcp",
            |c| c.initial_status = "purple".into(),
            "invalid initial check state (purple), must be one of \"passing\", \"warning\", \"critical\" or empty",
        ),
        ("tcp", |c| c.address_mode = "auto".into(), "invalid address_mode \"auto\" - auto only valid for services"),
        ("tcp", |c| c.address_mode = "weird".into(), "invalid address_mode \"weird\""),
        ("tcp", |c| c.address_mode = "alloc_ipv6".into(), ""),
        (
            "tcp",
            |c| c.on_update = "shrug".into(),
            "on_update must be \"require_healthy\", \"ignore_warnings\", or \"ignore\"; got \"shrug\"",
        ),
        (
            "tcp",
            |c| (c.on_update, c.check_restart) = ("ignore".into(), restart(1, 0, false)),
            "on_update value \"ignore\" is not compatible with check_restart",
        ),
        (
            "tcp",
            |c| (c.on_update, c.check_restart) = ("ignore_warnings".into(), restart(1, 0, false)),
            "on_update value \"ignore_warnings\" not supported with check_restart ignore_warnings value \"false\"",
        ),
        (
            "tcp",
            |c| c.check_restart = restart(-1, -SECOND, false),
            "2 errors occurred:\n\t* limit must be greater than or equal to 0 but found -1\n\t* grace period must be \
             greater than or equal to 0 but found -1000000000\n\n",
        ),
        ("tcp", |c| c.check_restart = restart(0, 0, false), ""),
    ];

    #[test]
    fn consul_checks() {
        run(consul, COMMON);
        run(
            consul,
            &[
                ("smoke", |_| {}, "invalid check type (\"smoke\"), must be one of grpc, tcp, http, script"),
                ("grpc", |c| c.expose = true, ""),
                ("script", |c| c.command = "".into(), "script type must have a valid script path"),
                ("tcp", |c| c.expose = true, "expose may only be set on HTTP or gRPC checks"),
                (
                    "script",
                    |c| c.success_before_passing = 1,
                    "success_before_passing not supported for check of type \"script\"",
                ),
                (
                    "script",
                    |c| c.failures_before_critical = 1,
                    "failures_before_critical not supported for check of type \"script\"",
                ),
                (
                    "script",
                    |c| c.failures_before_warning = 1,
                    "failures_before_warning not supported for check of type \"script\"",
                ),
                ("grpc", |c| c.failures_before_warning = 1, ""),
                ("tcp", |c| c.notes = "x".repeat(256), "notes must not be longer than 255 characters"),
                ("tcp", |c| c.notes = "x".repeat(255), ""),
                ("tcp", |c| (c.on_update, c.check_restart) = ("ignore_warnings".into(), restart(1, 0, true)), ""),
            ],
        );
    }

    #[test]
    fn nomad_checks() {
        run(nomad, COMMON);
        let only = "may only be set for Consul service checks";
        assert_eq!(nomad(&ServiceCheck { expose: true, ..check("tcp") }), Some(format!("expose {only}")));
        run(
            nomad,
            &[
                ("script", |_| {}, "invalid check type (\"script\"), must be one of tcp, http"),
                (
                    "tcp",
                    |c| c.on_update = "ignore_warnings".into(),
                    "on_update may only be set to ignore_warnings for Consul service checks",
                ),
                (
                    "tcp",
                    |c| c.check_restart = restart(1, 0, true),
                    "ignore_warnings on check_restart only supported for Consul service checks",
                ),
                (
                    "tcp",
                    |c| c.address_mode = "driver".into(),
                    "address_mode = driver may only be set for Consul service checks",
                ),
                ("http", |c| c.method = "BREW".into(), "method type \"BREW\" not supported in Nomad http check"),
                ("http", |c| c.method = "POST".into(), ""),
                (
                    "tcp",
                    |c| c.success_before_passing = 1,
                    "success_before_passing may only be set for Consul service checks",
                ),
                (
                    "tcp",
                    |c| c.failures_before_critical = 1,
                    "failures_before_critical may only be set for Consul service checks",
                ),
                (
                    "tcp",
                    |c| c.failures_before_warning = 1,
                    "failures_before_warning may only be set for Consul service checks",
                ),
                (
                    "tcp",
                    |c| c.tls_server_name = "x".into(),
                    "tls_server_name may only be set for Consul service checks",
                ),
            ],
        );
    }
}

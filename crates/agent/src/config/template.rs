//! Address templates such as `{{ GetPrivateIP }}` (`docs/spec/agent-config.md §8.3`).

use std::net::IpAddr;

use thiserror::Error;

use super::interfaces::Interface;

/// An address template that cannot be rendered.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{template}: {source}")]
pub struct TemplateError {
    /// The text with the template.
    pub template: String,
    source: Problem,
}

/// The problem of a template.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
enum Problem {
    #[error("a template is not closed")]
    OpenTemplate,
    #[error("a text is not closed: {0}")]
    OpenText(String),
    #[error("an empty template")]
    Empty,
    #[error("an empty step")]
    EmptyStep,
    /// A step that filters interfaces follows one that gives text.
    #[error("{0} needs a list of interfaces")]
    NoInterfaces(String),
    /// The last step gives interfaces.
    #[error("end with attr or join to get text")]
    NoText,
    #[error("function {name} with {arguments} arguments is not known")]
    Source { name: String, arguments: usize },
    #[error("function {name} with {arguments} arguments is not known behind a pipe")]
    Filter { name: String, arguments: usize },
    #[error("cannot sort by {0}")]
    SortKey(String),
    #[error("limit {0} is no number")]
    Limit(String),
    #[error("cannot select by {by} {value}")]
    Selector { by: String, value: String },
    #[error("type {0} is not known")]
    AddressType(String),
    #[error("flag {0} is not known")]
    Flag(String),
    #[error("{0} is no network")]
    Network(String),
    #[error("{0} is no regular expression")]
    Pattern(String),
    #[error("attribute {0} is not supported")]
    UnsupportedAttribute(String),
    #[error("attribute {0} is not known")]
    UnknownAttribute(String),
}

/// The text with its templates replaced.
pub(super) fn render(text: &str, all: &[Interface]) -> Result<String, TemplateError> {
    let failed = |source| TemplateError { template: text.into(), source };
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("{{") {
        let (inside, behind) = after.split_once("}}").ok_or(Problem::OpenTemplate).map_err(failed)?;
        out.push_str(before);
        out.push_str(&pipeline(inside.trim_matches(['-', ' ', '\t']), all).map_err(failed)?);
        rest = behind;
    }
    out.push_str(rest);
    Ok(out)
}

/// The value between the steps of a pipeline.
enum Stage {
    Interfaces(Vec<Interface>),
    Text(String),
}

fn pipeline(text: &str, all: &[Interface]) -> Result<String, Problem> {
    let mut stage: Option<Stage> = None;
    for step in split(text, '|') {
        let words = words(&step)?;
        let (name, args) = words.split_first().ok_or(Problem::EmptyStep)?;
        stage = Some(match stage {
            None => source(name, args, all)?,
            Some(Stage::Interfaces(list)) => filter(name, args, list)?,
            Some(Stage::Text(_)) => return Err(Problem::NoInterfaces(name.clone())),
        });
    }
    match stage {
        Some(Stage::Text(text)) => Ok(text),
        Some(Stage::Interfaces(_)) => Err(Problem::NoText),
        None => Err(Problem::Empty),
    }
}

fn source(name: &str, args: &[String], all: &[Interface]) -> Result<Stage, Problem> {
    let usable = |private: bool| {
        let fits = move |i: &&Interface| i.up && i.forwardable() && i.private() == private;
        all.iter().filter(fits).cloned().collect::<Vec<_>>()
    };
    let first = |list: Vec<Interface>| Stage::Text(list.first().map(|i| i.ip.to_string()).unwrap_or_default());
    let joined = |list: Vec<Interface>| Stage::Text(join(&list, |i| i.ip.to_string(), " "));
    Ok(match (name, args) {
        ("GetPrivateIP", []) => first(usable(true)),
        ("GetPublicIP", []) => first(usable(false)),
        ("GetPrivateIPs", []) => joined(usable(true)),
        ("GetPublicIPs", []) => joined(usable(false)),
        ("GetInterfaceIP", [pattern]) => {
            let pattern = regex(pattern)?;
            first(all.iter().filter(|i| pattern.is_match(&i.name)).cloned().collect())
        }
        ("GetAllInterfaces", []) => Stage::Interfaces(all.to_vec()),
        ("GetDefaultInterfaces", []) => Stage::Interfaces(all.iter().filter(|i| i.default_route).cloned().collect()),
        ("GetPrivateInterfaces", []) => Stage::Interfaces(usable(true)),
        ("GetPublicInterfaces", []) => Stage::Interfaces(usable(false)),
        _ => return Err(Problem::Source { name: name.into(), arguments: args.len() }),
    })
}

fn filter(name: &str, args: &[String], mut list: Vec<Interface>) -> Result<Stage, Problem> {
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match (name, args.as_slice()) {
        ("include" | "exclude", [by, value]) => {
            let fits = matcher(by, value)?;
            let wanted = name == "include";
            list.retain(|i| fits(i) == wanted);
            Ok(Stage::Interfaces(list))
        }
        ("sort", [by]) => {
            // The last key first: sorting keeps the order of equals.
            for key in by.split(',').rev() {
                let (key, descending) =
                    key.strip_prefix('-').map_or((key.trim_start_matches('+'), false), |k| (k, true));
                match key {
                    "name" => list.sort_by(|a, b| a.name.cmp(&b.name)),
                    "address" => list.sort_by_key(|i| i.ip),
                    "size" => list.sort_by_key(|i| i.prefix),
                    "type" => list.sort_by_key(|i| i.ip.is_ipv6()),
                    "private" => list.sort_by_key(|i| !i.private()),
                    "default" => list.sort_by_key(|i| !i.default_route),
                    other => return Err(Problem::SortKey(other.into())),
                }
                if descending {
                    list.reverse();
                }
            }
            Ok(Stage::Interfaces(list))
        }
        ("limit", [n]) => {
            list.truncate(n.parse().map_err(|_| Problem::Limit((*n).into()))?);
            Ok(Stage::Interfaces(list))
        }
        ("attr", [what]) => {
            let attribute = attribute(what)?;
            Ok(Stage::Text(list.first().map(attribute).unwrap_or_default()))
        }
        ("join", [what, between]) => Ok(Stage::Text(join(&list, attribute(what)?, between))),
        _ => Err(Problem::Filter { name: name.into(), arguments: args.len() }),
    }
}

/// Tells whether an interface has a property.
type Matcher = Box<dyn Fn(&Interface) -> bool>;

fn matcher(by: &str, value: &str) -> Result<Matcher, Problem> {
    Ok(match by {
        "name" => {
            let pattern = regex(value)?;
            Box::new(move |i| pattern.is_match(&i.name))
        }
        "type" => match value.to_ascii_lowercase().as_str() {
            "ipv4" => Box::new(|i| i.ip.is_ipv4()),
            "ipv6" => Box::new(|i| i.ip.is_ipv6()),
            "ip" => Box::new(|_| true),
            other => return Err(Problem::AddressType(other.into())),
        },
        "flags" | "flag" => {
            let flags: Vec<String> = value.split('|').map(String::from).collect();
            let known = ["up", "forwardable", "loopback", "global unicast"];
            if let Some(other) = flags.iter().find(|f| !known.contains(&f.as_str())) {
                return Err(Problem::Flag(other.clone()));
            }
            Box::new(move |i| {
                flags.iter().all(|f| match f.as_str() {
                    "up" => i.up,
                    "loopback" => i.ip.is_loopback(),
                    _ => i.forwardable(),
                })
            })
        }
        "rfc" if value == "6890" => Box::new(Interface::private),
        "network" => {
            let wrong = || Problem::Network(value.into());
            let (net, bits) = value.split_once('/').ok_or_else(wrong)?;
            let net: IpAddr = net.parse().map_err(|_| wrong())?;
            let bits: u32 = bits.parse().map_err(|_| wrong())?;
            Box::new(move |i| within(i.ip, net, bits))
        }
        _ => return Err(Problem::Selector { by: by.into(), value: value.into() }),
    })
}

fn within(ip: IpAddr, net: IpAddr, bits: u32) -> bool {
    match (ip, net) {
        (IpAddr::V4(ip), IpAddr::V4(net)) => {
            let mask = u32::MAX.checked_shl(32_u32.saturating_sub(bits)).unwrap_or(0);
            u32::from(ip) & mask == u32::from(net) & mask
        }
        (IpAddr::V6(ip), IpAddr::V6(net)) => {
            let mask = u128::MAX.checked_shl(128_u32.saturating_sub(bits)).unwrap_or(0);
            u128::from(ip) & mask == u128::from(net) & mask
        }
        _ => false,
    }
}

fn attribute(what: &str) -> Result<fn(&Interface) -> String, Problem> {
    match what {
        "address" => Ok(|i| i.ip.to_string()),
        "name" => Ok(|i| i.name.clone()),
        "size" | "netmask" | "network" | "flags" | "type" => Err(Problem::UnsupportedAttribute(what.into())),
        other => Err(Problem::UnknownAttribute(other.into())),
    }
}

fn join(list: &[Interface], of: impl Fn(&Interface) -> String, between: &str) -> String {
    list.iter().map(of).collect::<Vec<_>>().join(between)
}

fn regex(pattern: &str) -> Result<regex::Regex, Problem> {
    regex::Regex::new(pattern).map_err(|_| Problem::Pattern(pattern.into()))
}

/// The parts between separators that stand outside of quotes.
fn split(text: &str, separator: char) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut quoted = false;
    for c in text.chars() {
        quoted ^= c == '"';
        match parts.last_mut() {
            _ if c == separator && !quoted => parts.push(String::new()),
            Some(last) => last.push(c),
            None => {}
        }
    }
    parts
}

/// Words, and texts in quotes.
fn words(step: &str) -> Result<Vec<String>, Problem> {
    if step.matches('"').count() % 2 == 1 {
        return Err(Problem::OpenText(step.into()));
    }
    let blanks = step.replace(['\t', '\n'], " ");
    let words = split(&blanks, ' ').into_iter().filter(|w| !w.is_empty());
    Ok(words.map(|w| w.strip_prefix('"').and_then(|w| w.strip_suffix('"')).map(String::from).unwrap_or(w)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host() -> Vec<Interface> {
        let one = |name: &str, ip: &str, default_route| Interface {
            name: name.into(),
            ip: ip.parse().expect("an address"),
            prefix: 24,
            up: true,
            default_route,
        };
        vec![
            one("eth0", "10.0.0.5", true),
            one("eth1", "192.168.1.9", false),
            one("ppp0", "8.8.8.8", false),
            one("lo", "127.0.0.1", false),
        ]
    }

    #[test]
    fn functions_and_pipes_give_addresses() {
        for (template, want) in [
            ("plain", "plain"),
            ("{{ GetPrivateIP }}", "10.0.0.5"),
            ("{{GetPublicIP}}:99", "8.8.8.8:99"),
            ("{{ GetPrivateIPs }}", "10.0.0.5 192.168.1.9"),
            ("{{ GetInterfaceIP \"^lo$\" }}", "127.0.0.1"),
            ("{{ GetInterfaceIP \"nosuch\" }}", ""),
            ("{{ GetAllInterfaces | include \"network\" \"192.168.0.0/16\" | attr \"address\" }}", "192.168.1.9"),
            ("{{ GetAllInterfaces | exclude \"name\" \"^(lo|eth)\" | join \"name\" \",\" }}", "ppp0"),
            ("{{ GetPrivateInterfaces | sort \"-name\" | limit 1 | attr \"name\" }}", "eth1"),
            (
                "{{ GetAllInterfaces | include \"flags\" \"forwardable|up\" | include \"rfc\" \"6890\" | join \"address\" \" \" }}",
                "10.0.0.5 192.168.1.9",
            ),
            ("{{ GetDefaultInterfaces | include \"type\" \"ipv4\" | attr \"name\" }}", "eth0"),
        ] {
            assert_eq!(render(template, &host()).as_deref(), Ok(want), "{template}");
        }
    }

    #[test]
    fn anything_else_is_refused() {
        for (template, want) in [
            ("{{ GetPrivateIP", "a template is not closed"),
            ("{{ Env \"X\" }}", "function Env with 1 arguments is not known"),
            ("{{ GetAllInterfaces }}", "end with attr or join to get text"),
            ("{{ GetAllInterfaces | attr \"mtu\" }}", "attribute mtu is not known"),
            ("{{ GetAllInterfaces | include \"rfc\" \"1\" | attr \"name\" }}", "cannot select by rfc 1"),
            ("{{ GetPrivateIP | limit 1 }}", "limit needs a list of interfaces"),
            ("{{ GetInterfaceIP \"( }}", "a text is not closed"),
            ("{{ }}", "an empty step"),
        ] {
            let error = render(template, &host()).expect_err(template).to_string();
            assert!(error.contains(want), "{template}: {error}");
        }
    }
}

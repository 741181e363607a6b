//! Tests of policies and decisions.

use std::collections::BTreeSet;

use super::explain::{NeedError, OwnedNeed, Reason, parse_need};
use super::naive::{NaiveRule, words};
use super::*;
use encamp_model::random::Random;

fn acl(policies: &[&str]) -> Acl {
    let rules: Vec<(String, Rules)> = policies
        .iter()
        .enumerate()
        .map(|(i, text)| (format!("p{i}"), Rules::parse(text).unwrap_or_else(|e| panic!("{e}: {text}"))))
        .collect();
    Acl::merge(rules.iter().map(|(name, rules)| (name.as_str(), rules)))
}

fn may(acl: &Acl, namespace: &str, capability: Capability) -> bool {
    acl.allows(&Need::Namespace(namespace, &[capability]))
}

#[test]
fn texts_of_errors() {
    let refused = |text: &str| Rules::parse(text).expect_err(text).to_string();
    for (text, want) in [
        ("namespace {", "Failed to parse ACL Policy: At 1:12: object that begins at 1:11 is not closed"),
        (
            "namespace \"default\" { capabilities = [\"zz\"] }",
            "Invalid namespace capability 'zz': in namespace \"default\"",
        ),
        ("namespace \"default\" { policy = \"zz\" }", "Invalid namespace policy: \"zz\" in namespace \"default\""),
        ("namespace \"default\" { policy = \"list\" }", "Invalid namespace policy: \"list\" in namespace \"default\""),
        ("namespace \"default\" { policy = \"read\" }\nzzz { a = 1 }", "Invalid or duplicate policy keys: zzz"),
        ("agent { policy = \"read\" }\nagent { policy = \"read\" }", "Invalid or duplicate policy keys: agent"),
        ("namespace \"a b\" { policy = \"read\" }", "Invalid namespace name: \"a b\""),
        ("node_pool \"a/b\" { policy = \"read\" }", "Invalid node pool name: \"a/b\""),
        ("namespace \"a\" { variables { } }", "Invalid variable policy: no variable paths in namespace \"a\""),
        (
            "namespace \"a\" { variables { path \"/x\" { capabilities = [\"read\"] } } }",
            "Invalid variable path: \"/x\" in namespace \"a\"",
        ),
        ("namespace \"a\" { polizy = \"read\" }", "Invalid namespace \"a\" keys: polizy"),
        ("agent { policy = \"zz\" }", "Invalid agent policy: \"zz\" in agent"),
        ("{}", "Invalid policy: at least one rule is required"),
        ("# nothing", "Invalid policy: at least one rule is required"),
        ("namespace \"a\" { policy = 3 }", "Failed to parse ACL Policy: At 1:26: expected text"),
    ] {
        assert_eq!(refused(text), want, "{text}");
        // Stored policies grant what is understood.
        Rules::parse_stored(text);
    }
    assert_eq!(
        refused(&" ".repeat(policy::LONGEST + 1)),
        "Failed to parse ACL Policy: the text is longer than 1024 KiB"
    );
    let many = "namespace \"a\" { policy = \"read\" }\n".repeat(policy::MOST_RULES + 1);
    assert!(refused(&many).ends_with("there are more than 10000 rules"));
    assert_eq!(Rules::parse("  \n"), Ok(Rules::default()), "an empty policy grants nothing");
    let lenient = Rules::parse_stored("namespace \"a\" { capabilities = [\"zz\", \"read-job\"] }\nzzz { }");
    assert!(may(&Acl::merge([("p", &lenient)]), "a", Capability::ReadJob));
}

#[test]
fn rules_without_a_label_are_refused_and_grant_nothing() {
    for text in [
        "namespace { policy = \"write\" }",
        "namespace { capabilities = [\"submit-job\"] }",
        "namespace \"\" { policy = \"write\" }",
        "node_pool { policy = \"write\" }",
        "host_volume { policy = \"write\" }",
        "namespace \"a\" { variables { path { capabilities = [\"read\"] } } }",
        "{\"namespace\": {\"policy\": \"write\"}}",
    ] {
        assert!(Rules::parse(text).is_err(), "{text}");
        // Policies of a restored snapshot are not refused.
        let stored = Acl::merge([("p", &Rules::parse_stored(text))]);
        for name in ["", "a", "default", "policy", "*"] {
            assert!(!may(&stored, name, Capability::SubmitJob) && !may(&stored, name, Capability::ListJobs), "{text}");
            assert!(!stored.allows(&Need::Variable(name, "a", VariableCapability::Read)), "{text}");
            assert!(!stored.allows(&Need::Pool(name, PoolCapability::Write)), "{text}");
        }
    }
}

#[test]
fn both_languages() {
    let hcl = "namespace \"default\" { policy = \"read\"\n capabilities = [\"submit-job\"]\n variables {\n path \"app/*\" { \
               capabilities = [\"read\"] }\n } }\nnode { policy = \"read\" }\n";
    let json = r#"{"namespace": {"default": {"policy": "read", "capabilities": ["submit-job"],
        "variables": {"path": {"app/*": {"capabilities": ["read"]}}}}}, "node": [{"policy": "read"}]}"#;
    let (hcl, json) = (Rules::parse(hcl).expect("hcl"), Rules::parse(json).expect("json"));
    assert_eq!(hcl, json);
    let shown = hcl.to_json("");
    assert_eq!(
        shown["Namespaces"][0]["Capabilities"],
        serde_json::json!([
            "submit-job",
            "list-jobs",
            "parse-job",
            "read-job",
            "csi-list-volume",
            "csi-read-volume",
            "read-job-scaling",
            "list-scaling-policies",
            "read-scaling-policy",
            "host-volume-read"
        ])
    );
    assert_eq!(shown["Namespaces"][0]["Variables"]["Paths"][0]["Capabilities"], serde_json::json!(["read", "list"]));
    assert!(shown["Agent"].is_null() && shown["Node"]["Policy"] == "read");
}

#[test]
fn the_closest_label_decides() {
    let acl = acl(&[
        "namespace \"apps*\" { policy = \"deny\" }\nnamespace \"apps-*\" { policy = \"read\" }",
        "namespace \"*\" { policy = \"read\" }",
    ]);
    assert!(!may(&acl, "apps", Capability::ReadJob));
    assert!(may(&acl, "apps-prod", Capability::ReadJob));
    assert!(may(&acl, "web", Capability::ReadJob) && !may(&acl, "web", Capability::SubmitJob));
    assert!(may(&acl, "*", Capability::ReadJob) && !may(&acl, "*", Capability::SubmitJob));
    let why = acl.explain(&Need::Namespace("apps-prod", &[Capability::ReadJob]));
    assert!(matches!(&why.reason, Reason::Rule(r) if r.rule == "namespace \"apps-*\"" && r.difference == 4));
    assert_eq!(why.others.iter().map(|o| o.difference).collect::<Vec<_>>(), [5, 9]);
}

#[test]
fn reasons_agree_with_decisions_about_any_object() {
    let acl = acl(&[
        "namespace \"a\" { policy = \"deny\" }\nnode_pool \"a\" { policy = \"deny\" }",
        "namespace \"b\" {\n  policy = \"read\"\n  variables { path \"x\" { capabilities = [\"read\"] } }\n}",
    ]);
    let rule = |need: &Need<'_>| match acl.explain(need) {
        why if why.allowed => match why.reason {
            Reason::Rule(rule) => Some(rule.rule),
            other => panic!("{need}: {other:?}"),
        },
        why => {
            assert_eq!(why.reason, Reason::NoRule, "{need}");
            None
        }
    };
    assert_eq!(rule(&Need::AnyIn("*")).as_deref(), Some("namespace \"b\""));
    assert_eq!(rule(&Need::AnyPool), None);
    assert_eq!(rule(&Need::AnyVariable("a")), None);
    assert_eq!(rule(&Need::AnyVariable("b")).as_deref(), Some("path \"x\" in namespace \"b\""));
}

#[test]
fn policies_unite_and_deny_wins() {
    let read = "namespace \"a\" { policy = \"read\" }\noperator { policy = \"read\" }\nnode { policy = \"write\" }";
    let more = "namespace \"a\" { capabilities = [\"submit-job\"] }\noperator { capabilities = [\"snapshot-save\"] }\n\
                node { policy = \"read\" }";
    let deny =
        "namespace \"a\" { policy = \"deny\" }\noperator { capabilities = [\"deny\"] }\nnode { policy = \"deny\" }";
    let both = acl(&[read, more]);
    assert!(may(&both, "a", Capability::ReadJob) && may(&both, "a", Capability::SubmitJob));
    assert!(both.allows(&Need::OperatorCapability(OperatorCapability::SnapshotSave)));
    assert!(both.allows(&Need::OperatorCapability(OperatorCapability::KeyringRead)));
    assert!(both.allows(&Need::Node(Level::Write)) && both.allows(&Need::Operator(Level::Read)));
    let all = acl(&[read, deny, more]);
    assert!(!may(&all, "a", Capability::ReadJob) && !may(&all, "a", Capability::SubmitJob));
    assert!(!all.allows(&Need::OperatorCapability(OperatorCapability::KeyringRead)));
    assert!(!all.allows(&Need::Node(Level::Read)));
    assert!(!all.allows(&Need::AnyIn("a")));
}

#[test]
fn variables_unite_and_deny_does_not_win() {
    let rule = |path: &str, words: &str| {
        format!("namespace \"a\" {{ variables {{ path \"{path}\" {{ capabilities = [{words}] }} }} }}")
    };
    let both = acl(&[&rule("x/*", "\"deny\""), &rule("x/*", "\"read\"")]);
    let may = |acl: &Acl, path: &str, c| acl.allows(&Need::Variable("a", path, c));
    assert!(may(&both, "x/1", VariableCapability::Read) && may(&both, "x/1", VariableCapability::List));
    assert!(!may(&both, "y", VariableCapability::Read) && both.allows(&Need::AnyVariable("a")));
    assert!(!both.allows(&Need::AnyVariable("b")) && both.allows(&Need::AnyVariable("*")));
    let one = acl(&[&rule("x/*", "\"read\", \"deny\"")]);
    assert!(!may(&one, "x/1", VariableCapability::Read) && !one.allows(&Need::AnyVariable("a")));
    assert!(!acl(&["namespace \"a\" { policy = \"write\" }"]).allows(&Need::AnyVariable("a")), "no policy grants any");
}

#[test]
fn plugins_pools_and_volumes() {
    let of = |word: &str| acl(&[&format!("plugin {{ policy = \"{word}\" }}")]);
    for (word, list, read) in
        [("list", true, false), ("read", true, true), ("write", false, false), ("deny", false, false)]
    {
        let acl = of(word);
        assert_eq!(acl.allows(&Need::Plugin(PluginLevel::List)), list, "{word}");
        assert_eq!(acl.allows(&Need::Plugin(PluginLevel::Read)), read, "{word}");
    }
    let acl = acl(&["node_pool \"g*\" { policy = \"write\" }\nhost_volume \"data\" { policy = \"read\" }"]);
    assert!(acl.allows(&Need::Pool("gpu", PoolCapability::Delete)) && acl.allows(&Need::AnyPool));
    assert!(acl.allows(&Need::HostVolume("data", HostVolumeCapability::MountReadonly)));
    assert!(!acl.allows(&Need::HostVolume("data", HostVolumeCapability::MountReadwrite)));
}

#[test]
fn workloads_read_their_own_variables() {
    let own = Workload { namespace: "a".into(), job: "web".into(), group: "g".into(), task: "t".into() };
    let exact = "namespace \"a\" { variables { path \"nomad/jobs/web/g\" { capabilities = [\"deny\"] } } }";
    let acl = acl(&[exact]).with_workload(own);
    let may = |ns, path, c| acl.allows(&Need::Variable(ns, path, c));
    for path in ["nomad/jobs", "nomad/jobs/web", "nomad/jobs/web/g/t"] {
        assert!(may("a", path, VariableCapability::Read) && may("a", path, VariableCapability::List), "{path}");
        assert!(!may("a", path, VariableCapability::Write) && !may("b", path, VariableCapability::Read), "{path}");
    }
    assert!(!may("a", "nomad/jobs/web/g", VariableCapability::Read), "an exact rule decides");
    assert!(
        !may("a", "nomad/jobs/web/h", VariableCapability::Read) && !may("a", "nomad/jobs/db", VariableCapability::Read)
    );
    assert!(acl.allows(&Need::Services("other")) && !may_read(&acl));
}

fn may_read(acl: &Acl) -> bool {
    may(acl, "a", Capability::ReadJob)
}

#[test]
fn needs_in_words() {
    assert_eq!(parse_need("submit-job", ""), Ok(OwnedNeed::Namespace("default".into(), Capability::SubmitJob)));
    assert_eq!(
        parse_need("variable:read", "apps:a/b"),
        Ok(OwnedNeed::Variable("apps".into(), "a/b".into(), VariableCapability::Read))
    );
    assert_eq!(parse_need("node:write", "-"), Ok(OwnedNeed::Node(Level::Write)));
    let unknown = parse_need("submit-jobs", "").expect_err("no capability");
    assert_eq!(unknown, NeedError::Unknown { word: "submit-jobs".into(), nearest: "submit-job".into() });
    assert!(matches!(parse_need("pool:read", ""), Err(NeedError::NoObject { .. })));
}

#[test]
fn changes_are_listed() {
    let before = acl(&["namespace \"*\" { policy = \"read\" }\nnode { policy = \"read\" }"]);
    let after = acl(&["namespace \"*\" { policy = \"read\" }\nnamespace \"prod\" { capabilities = [\"submit-job\"] }"]);
    let changes = difference::difference(&before, &after);
    let prod = changes.iter().find(|c| c.rule == "namespace \"prod\"").expect("prod");
    assert!(prod.gained == ["submit-job"] && prod.lost.contains(&"read-job"), "a closer label takes effect");
    assert!(changes.iter().any(|c| c.rule == "node" && c.lost == ["read"]));
    assert_eq!(changes.len(), 2);
    assert!(difference::difference(&after, &after).is_empty());
}

/// Random policies, as text and as the naive rules.
struct Policies {
    texts: Vec<String>,
    rules: Vec<NaiveRule>,
}

const LABELS: &[&str] = &["a", "ab", "abc", "a*", "ab*", "*c", "a*c", "*", "*b*", "**", "b-*", "b-c"];
const PATHS: &[&str] = &["a", "a/b", "a/*", "*", "*/b", "a/b/*", "nomad/jobs"];

fn pick<'a>(random: &mut Random, list: &[&'a str]) -> &'a str {
    list[usize::try_from(random.below(list.len() as u64)).unwrap_or(0)]
}

fn some(random: &mut Random, all: &[&'static str]) -> Vec<&'static str> {
    let mut out: Vec<&'static str> = (0..=random.below(2)).map(|_| pick(random, all)).collect();
    out.dedup();
    out
}

fn policies(random: &mut Random) -> Policies {
    let mut out = Policies { texts: vec![], rules: vec![] };
    let list = |words: &[&str]| words.iter().map(|w| format!("\"{w}\"")).collect::<Vec<_>>().join(", ");
    for _ in 0..=random.below(3) {
        let mut text = String::new();
        for _ in 0..=random.below(3) {
            let label = pick(random, LABELS);
            match random.below(3) {
                0 => {
                    let words = some(random, &["read-job", "submit-job", "list-jobs", "deny"]);
                    text += &format!("namespace \"{label}\" {{ capabilities = [{}] }}\n", list(&words));
                    out.rules.push(NaiveRule { kind: "namespace", label: label.into(), words });
                }
                1 => {
                    let words = some(random, &["read", "write", "delete", "deny"]);
                    text += &format!("node_pool \"{label}\" {{ capabilities = [{}] }}\n", list(&words));
                    out.rules.push(NaiveRule { kind: "pool", label: label.into(), words });
                }
                _ => {
                    let path = pick(random, PATHS);
                    let mut words = some(random, &["read", "list", "write", "destroy", "deny"]);
                    text += &format!(
                        "namespace \"{label}\" {{ variables {{ path \"{path}\" {{ capabilities = [{}] }} }} }}\n",
                        list(&words)
                    );
                    if words.contains(&"read") {
                        words.push("list");
                    }
                    out.rules.push(NaiveRule { kind: "variable", label: format!("{label}\0{path}"), words });
                    out.rules.push(NaiveRule { kind: "namespace", label: label.into(), words: vec![] });
                }
            }
        }
        out.texts.push(text);
    }
    out
}

#[test]
fn random_policies_agree_with_the_naive_evaluator() {
    let cases: u64 = std::env::var("ENCAMP_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(20_000);
    let names = ["a", "ab", "abc", "abbc", "b-c", "b-d", "x", "cab"];
    let paths = ["a", "a/b", "a/b/c", "b", "nomad/jobs"];
    for seed in 0..cases {
        let random = &mut Random::new(seed, "acl");
        let made = policies(random);
        let texts: Vec<&str> = made.texts.iter().map(String::as_str).collect();
        let acl = acl(&texts);
        let (name, path) = (pick(random, &names), pick(random, &paths));
        let none = BTreeSet::new();
        let namespace = words(&made.rules, "namespace", name).unwrap_or(none.clone());
        for c in [Capability::ReadJob, Capability::SubmitJob, Capability::ListJobs] {
            assert_eq!(may(&acl, name, c), namespace.contains(c.name()), "seed {seed}: {c} in {name}: {texts:?}");
        }
        let pool = words(&made.rules, "pool", name).unwrap_or(none.clone());
        for c in [PoolCapability::Read, PoolCapability::Write, PoolCapability::Delete] {
            assert_eq!(acl.allows(&Need::Pool(name, c)), pool.contains(c.name()), "seed {seed}: {c} {name}: {texts:?}");
        }
        let variable = words(&made.rules, "variable", &format!("{name}\0{path}")).unwrap_or(none);
        for c in VariableCapability::ALL.iter().copied().filter(|c| *c != VariableCapability::Deny) {
            let got = acl.allows(&Need::Variable(name, path, c));
            assert_eq!(got, variable.contains(c.name()), "seed {seed}: {c} {name}:{path}: {texts:?}");
        }
    }
}

#[test]
fn broken_texts_are_refused_without_a_panic() {
    let whole = "namespace \"apps-*\" {\n policy = \"read\"\n variables {\n path \"a/*\" { capabilities = [\"read\"] }\n }\n}\n\
                 operator { capabilities = [\"keyring-read\"] }\nplugin { policy = \"list\" }\n";
    for seed in 0..5_000 {
        let random = &mut Random::new(seed, "acl");
        let mut bytes = whole.as_bytes().to_vec();
        for _ in 0..=random.below(4) {
            let at = usize::try_from(random.below(bytes.len() as u64)).unwrap_or(0);
            match random.below(3) {
                0 => drop(bytes.remove(at)),
                1 => bytes.insert(at, b"{}[]\"*=\n\\<,"[usize::try_from(random.below(11)).unwrap_or(0)]),
                _ => bytes[at] = u8::try_from(random.below(256)).unwrap_or(0),
            }
        }
        let text = String::from_utf8_lossy(&bytes);
        let _ = Rules::parse(&text);
        let acl = Acl::merge([("p", &Rules::parse_stored(&text))]);
        acl.allows(&Need::Namespace("apps-1", &[Capability::ReadJob]));
    }
}

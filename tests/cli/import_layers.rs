//! The layers of a crate: a file imports files of its own layer and of those below it. What a file imports can then be
//! read, and moved into a crate of its own, without what stands on it.

use std::fs;
use std::path::Path;

use crate::import_cycles::imports_of_sources;

/// A layer: its name, and the files and folders in it.
type Layer = (&'static str, &'static [&'static str]);

/// The layers of the crate `server`, from the ground up.
const SERVER: &[Layer] = &[
    ("ground", &["error.rs", "settings.rs", "jobs/", "keyring/", "fsm/", "storage/", "frozen.rs", "server_state.rs"]),
    ("queues and consensus", &["evals/", "var_locks/", "queues/", "other_agents/", "leading.rs"]),
    ("operations", &["acl/", "csi/", "nodes/"]),
    ("pipeline and leadership", &["pipeline/", "leadership/"]),
    ("running server", &["server.rs"]),
    ("calls that it serves", &["endpoints/", "rollout_preview/"]),
];

/// An import of a file above: from, to, and why it stays.
type Upward = (&'static str, &'static str, &'static str);

/// The imports against the layers of `server`; at most five.
const SERVER_UPWARD: &[Upward] = &[(
    "nodes/node_rpc.rs",
    "server.rs",
    "the calls of nodes stand with the other code about nodes, not with the endpoints; two of them wait for the \
     server's batches of updates and of answers",
)];

/// The place of a file in the layers.
fn layer_of(layers: &[Layer], file: &str) -> Option<usize> {
    let holds = |part: &str| if part.ends_with('/') { file.starts_with(part) } else { file == part };
    layers.iter().position(|(_, parts)| parts.iter().any(|part| holds(part)))
}

/// What is wrong with the imports of a crate.
fn report<'a>(
    layers: &[Layer],
    upward: &[Upward],
    imports: impl IntoIterator<Item = (&'a str, &'a str)>,
) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut seen = Vec::new();
    for (from, to) in imports {
        let (Some(own), Some(other)) = (layer_of(layers, from), layer_of(layers, to)) else {
            let file = if layer_of(layers, from).is_none() { from } else { to };
            wrong.push(format!("{file} is in no layer"));
            continue;
        };
        if other <= own {
            continue;
        }
        if upward.iter().any(|(f, t, _)| (*f, *t) == (from, to)) {
            seen.push((from, to));
        } else {
            let [own, other] = [own, other].map(|at| layers[at].0);
            wrong.push(format!("{from} ({own}) imports {to} ({other}), which stands above it"));
        }
    }
    let unused = upward.iter().filter(|(from, to, _)| !seen.contains(&(*from, *to)));
    wrong.extend(unused.map(|(from, to, _)| format!("{from} does not import {to} from above: remove the exception")));
    wrong
}

#[test]
fn the_server_is_built_in_layers() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("crates/server/src");
    let imports = imports_of_sources(&|file| fs::read_to_string(folder.join(file)).ok());
    assert!(imports.len() >= 300, "{} imports", imports.len());
    let wrong = report(SERVER, SERVER_UPWARD, imports.keys().map(|(from, to)| (from.as_str(), to.as_str())));
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(SERVER_UPWARD.len() <= 5);
}

#[test]
fn upward_imports_and_unused_exceptions_are_reported() {
    let layers: &[Layer] = &[("ground", &["a.rs", "b/"]), ("top", &["c.rs"])];
    let wrong =
        |upward: &[Upward], imports: &[(&'static str, &'static str)]| report(layers, upward, imports.iter().copied());
    assert!(wrong(&[], &[("c.rs", "a.rs"), ("c.rs", "b/mod.rs"), ("a.rs", "b/mod.rs")]).is_empty());
    let text = "b/mod.rs (ground) imports c.rs (top), which stands above it";
    assert_eq!(wrong(&[], &[("b/mod.rs", "c.rs")]), [text]);
    let exception = [("b/mod.rs", "c.rs", "a reason")];
    assert!(wrong(&exception, &[("b/mod.rs", "c.rs")]).is_empty());
    let text = "b/mod.rs does not import c.rs from above: remove the exception";
    assert_eq!(wrong(&exception, &[("c.rs", "a.rs")]), [text]);
    assert_eq!(wrong(&[], &[("a.rs", "d.rs")]), ["d.rs is in no layer"]);
}

//! A cluster with access control, for the examples about it.

use encamp_cli::command_examples::{IDS, Named};

use super::directory::ExampleDirectory;
use super::end;
use super::shell::{Shell, Until};
use crate::agent::Agent;

const CONFIG: &str = "acl {\n  enabled = true\n}\n";
/// The secret of the first management token: that of `admin-secret.txt`.
const SECRET: &str = "3f0a8c1e-7d25-4b96-a1e3-8c64d90f72b5";
/// A token of the system whose tokens the auth method `ci` accepts; it expires in the year 2100.
const CI_TOKEN: &str = "eyJhbGciOiJFUzI1NiIsInR5cCI6IkpXVCJ9.eyJhdWQiOiAiZW5jYW1wIiwgImlhdCI6IDE2OTUwMDAwMDAsICJleHAiOiA0MTAyNDQ0ODAwLCAidGVhbSI6ICJ3ZWIifQ.HGzAE7bhSDe-PII1bb9b2j9Vl-YHlxp37dbeyfbA8RMDfi2UCltady9_2tp18HWl-ut2u5oTU0gyQ0H7IB-FPQ";

/// What is in the cluster before each example.
const SETUP: &[&str] = &[
    "encamp acl policy apply dev dev.policy.hcl",
    "encamp acl policy apply ops dev.policy.hcl",
    "encamp acl policy apply anonymous dev.policy.hcl",
    "encamp acl role info -by-name developers || encamp acl role create -name developers -policy dev",
    "encamp acl token info e0b47c92-5a1d-4c3e-8f06-97d2b4a18c35 ||
     encamp acl token create -accessor e0b47c92-5a1d-4c3e-8f06-97d2b4a18c35 -policy dev token-secret.txt",
];
/// The same, for examples about auth methods that exist.
const AUTH_METHOD: &[&str] = &[
    "encamp acl auth-method info ci ||
     encamp acl auth-method create -name ci -type JWT -max-token-ttl 1h -config @ci-auth-method.json",
    "encamp acl auth-method info main ||
     encamp acl auth-method create -name main -type JWT -max-token-ttl 1h -config @ci-auth-method.json",
    "test \"$(encamp acl binding-rule list -t '{{len .}}')\" != 0 ||
     encamp acl binding-rule create -auth-method ci -bind-type role -bind-name developers",
];

/// The first management token is made once: each example of the bootstrap has a cluster of its own.
pub(super) fn run(examples: impl Iterator<Item = (&'static str, &'static str)>) {
    let (first, others): (Vec<_>, Vec<_>) = examples.partition(|(command, _)| *command == "acl bootstrap");
    let mut failures = Vec::new();
    for (command, line) in first {
        let cluster = AccessCluster::start("");
        failures.extend(cluster.shell.example(command, line, end(command, line)));
    }
    let cluster = AccessCluster::start(SECRET);
    cluster.shell.must("encamp acl bootstrap admin-secret.txt");
    for (command, line) in others {
        SETUP.iter().for_each(|line| cluster.shell.must(line));
        match command {
            "acl auth-method create" => {
                cluster.shell.must("encamp acl auth-method delete ci; encamp acl auth-method delete main; true");
            }
            _ => AUTH_METHOD.iter().for_each(|line| cluster.shell.must(line)),
        }
        let line = cluster.with_live_ids(line);
        failures.extend(cluster.shell.example(command, &line, end(command, &line)));
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

struct AccessCluster {
    /// Stops when it is dropped.
    _agent: Agent,
    shell: Shell,
    /// Goes last.
    _directory: ExampleDirectory,
}

impl AccessCluster {
    /// `token`: the token of the commands; empty: none.
    fn start(token: &str) -> AccessCluster {
        let directory = ExampleDirectory::new("examples-access");
        let log = directory.path().join("agent.log");
        let config = format!("log_file = {:?}\n{CONFIG}", log.display().to_string());
        let agent = Agent::start(directory.folder(), &config, &["-dev"]);
        let environment = [
            ("NOMAD_ADDR", agent.address()),
            ("NOMAD_TOKEN", token.to_string()),
            ("ADMIN_TOKEN", SECRET.to_string()),
            ("CI_TOKEN", CI_TOKEN.to_string()),
        ];
        let environment: Vec<(&str, &str)> = environment.iter().map(|(k, v)| (*k, v.as_str())).collect();
        let shell = Shell::new(&directory, &environment);
        AccessCluster { _agent: agent, shell, _directory: directory }
    }

    /// The first word that a command prints.
    fn first_word(&self, line: &str) -> String {
        let output = self.shell.run(line, Until::Exits).output;
        output.split_whitespace().next().unwrap_or_else(|| panic!("{line}: no output")).to_string()
    }

    /// A line with the IDs of objects that exist.
    fn with_live_ids(&self, line: &str) -> String {
        let mut line = line.to_string();
        for (id, named) in IDS.iter().filter(|(id, _)| line.contains(id)).collect::<Vec<_>>() {
            let live = match named {
                Named::AclBindingRule => {
                    self.first_word("encamp acl binding-rule list -t '{{range .}}{{.ID}} {{end}}'")
                }
                Named::AclRole => self.first_word("encamp acl role info -by-name -t '{{.ID}}' developers"),
                _ => continue,
            };
            line = line.replace(id, &live);
        }
        line
    }
}

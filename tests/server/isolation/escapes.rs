//! Attempts of a task to get out: none succeeds, and `docs/dev/isolation.md` says why.

use std::collections::BTreeMap;

use super::host::{Host, SECRET};
use super::*;

/// The results of attempts that succeed in nothing, one line each: name, tab, results in a task of `exec`, tab, those in
/// a task of `docker`. Results are separated by bars; `-`: the attempt is not made there.
const EXPECTED: &str = include_str!("expected.tsv");
/// Attempts of containers alone that the tests make, and not the program that runs in tasks.
const BY_CONTAINERS: [&str; 2] = ["volume_by_a_link_of_another_task", "working_directory_of_the_runtime"];

/// Attempts that tests make with tasks of both kinds.
fn by_tests() -> Vec<&'static str> {
    std::iter::once("program_of_the_agent_during_commands").chain(agent_files::names()).collect()
}

/// Which tasks make the attempts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Those of the driver `exec`.
    Exec,
    /// Those of the driver `docker`.
    Docker,
}

/// The attempts, and the results that are fine in tasks of that kind; without results: the attempt is not made.
fn expected(kind: Kind) -> Vec<(&'static str, Option<Vec<&'static str>>)> {
    let row = |line: &'static str| {
        let mut cells = line.split('\t');
        let (name, exec, docker) = (cells.next()?, cells.next()?, cells.next()?);
        let results = match kind {
            Kind::Exec => exec,
            Kind::Docker => docker,
        };
        Some((name, (results != "-").then(|| results.split('|').collect())))
    };
    EXPECTED.lines().skip(1).filter_map(row).collect()
}

/// The names of attempts that tasks of that kind do not make, as the program gets them.
pub fn not_made(kind: Kind) -> String {
    let names = expected(kind).into_iter().filter(|(_, results)| results.is_none());
    names.map(|(name, _)| name).collect::<Vec<_>>().join(",")
}

/// Compares what the program says with the results that are fine; `open`: attempts whose result does not matter.
pub fn compare(kind: Kind, said: &str, open: &[&str]) {
    let mut wrong = Vec::new();
    let mut results: BTreeMap<&str, &str> = said.lines().filter_map(|l| l.split_once('\t')).collect();
    results.remove("done");
    for (name, allowed) in expected(kind) {
        let Some(allowed) = allowed else { continue };
        match results.remove(name) {
            Some(result) if allowed.contains(&result) || open.contains(&name) => {}
            result => wrong.push(format!("{name}: {result:?} instead of {allowed:?}")),
        }
    }
    assert!(wrong.is_empty() && results.is_empty(), "{}\n{results:?}", wrong.join("\n"));
}

#[test]
fn the_documentation_lists_the_attempts() {
    let text = file("docs/dev/isolation.md");
    let rows = text.lines().filter_map(|l| l.strip_prefix("| `")?.split_once('`'));
    let named: Vec<&str> = rows.map(|(name, _)| name).collect();
    let mut wanted: Vec<&str> = expected(Kind::Exec).into_iter().map(|(name, _)| name).collect();
    wanted.extend(by_tests());
    wanted.extend(BY_CONTAINERS);
    assert_eq!(named, wanted);
    // A column says "-" where the attempt is not made.
    for (column, kind) in [(2, Kind::Exec), (3, Kind::Docker)] {
        let cells = text.lines().filter(|l| l.starts_with("| `")).filter_map(|l| l.split(" | ").nth(column));
        let without: Vec<bool> = cells.map(|cell| cell.trim_end_matches(" |") == "-").collect();
        let of_program = expected(kind).into_iter().map(|(_, results)| results.is_none());
        let of_tests = by_tests().into_iter().map(|_| false);
        let of_containers = BY_CONTAINERS.map(|_| kind == Kind::Exec);
        assert_eq!(without, of_program.chain(of_tests).chain(of_containers).collect::<Vec<_>>(), "{kind:?}");
        assert!(without.iter().filter(|without| !**without).count() >= 60, "{kind:?}");
    }
}

#[test]
fn no_task_gets_out() {
    let folder = Folder::new("escapes");
    let Some(host) = Host::new(&folder, "escapes") else { return };
    let Some(agent) = start(&folder, "  pids_limit = 64") else { return };
    let mut attacker = task("exec", "");
    attacker["Config"] = json!({"command": "/usr/bin/perl", "args": host.arguments(Kind::Exec)});
    attacker["Resources"]["MemoryMB"] = json!(128);
    let mut victim = task("exec", "echo key > /secrets/key; sleep 600; : victim-of-isolation");
    victim["Name"] = json!("victim");
    let mut job = job("escapes", JobType::Service, &[attacker, victim]);
    job["TaskGroups"][0]["Networks"] = json!([{"Mode": "none"}]);
    let alloc = run(&agent, &job, ClientStatus::Running);
    compare(Kind::Exec, &until_output(&folder, &alloc, "main", "\ndone\t\n"), &[]);

    // The program that runs commands in the task can't be changed while it does.
    for _ in 0..10 {
        assert_eq!(exec(&folder, &agent, &alloc, "main", &["/bin/true"]), (String::new(), 0));
    }
    let text = output(&folder, &alloc, "main");
    assert!(!text.contains("opened"), "{text}");
    host.stays_unharmed();
    collect(&folder, &agent, "escapes", id(&alloc));
}

#[test]
#[ignore = "takes long: `cargo xtask test all` runs it"]
fn files_of_tasks_do_not_lead_the_agent_out() {
    let folder = Folder::new("escapes-files");
    let canary = folder.file("canary", SECRET);
    let Some(agent) = start(&folder, "") else { return };
    let mut victim = task("exec", "echo key > /secrets/key; sleep 600");
    victim["Name"] = json!("victim");
    let attacker = task("exec", &agent_files::script(&canary, ""));
    let alloc = run(&agent, &job("files", JobType::Service, &[attacker, victim]), ClientStatus::Running);
    until_output(&folder, &alloc, "main", "made\n");
    agent_files::lead_nowhere(&agent, id(&alloc), "main", &canary);
    collect(&folder, &agent, "files", id(&alloc));
}

#[test]
fn users_and_capabilities_are_bounded() {
    let folder = Folder::new("escapes-bounds");
    let plugin = "  allow_caps = [\"chown\", \"net_raw\"]\n  denied_host_uids = \"1-10\"";
    let Some(agent) = start(&folder, plugin) else { return };
    let failed = |id: &str, change: &dyn Fn(&mut Json)| {
        let mut main = task("exec", "true");
        change(&mut main);
        let alloc = run(&agent, &job(id, JobType::Batch, &[main]), ClientStatus::Failed);
        alloc["TaskStates"]["main"]["Events"].to_string()
    };
    for (id, user, error) in [
        ("root", "root", "running as user \\\"root\\\" is disallowed"),
        ("number", "0", "running as user \\\"0\\\" is disallowed"),
        ("denied", "daemon", "running as uid 1 is disallowed"),
        ("unknown", "no such user", "unknown user no such user"),
    ] {
        let events = failed(id, &|t| t["User"] = json!(user));
        assert!(events.contains(error), "{events}");
    }
    for (id, key, value, error) in [
        ("caps", "cap_add", json!(["sys_admin"]), "driver does not allow the following capabilities: sys_admin"),
        ("unknown-caps", "cap_add", json!(["nope"]), "unknown capability"),
        ("mode", "pid_mode", json!("x"), "pid_mode must be"),
        ("program", "command", json!("no-such-program"), "could not be found"),
    ] {
        let events = failed(id, &|t| t["Config"][key] = value.clone());
        assert!(events.contains(error), "{events}");
    }
    let mut main = task("exec", "grep CapEff /proc/self/status");
    main["Config"]["cap_add"] = json!(["net_raw"]);
    let alloc = run(&agent, &job("few", JobType::Batch, &[main]), ClientStatus::Complete);
    // CAP_CHOWN and CAP_NET_RAW.
    assert!(output(&folder, &alloc, "main").contains("0000000000002001"), "{}", output(&folder, &alloc, "main"));
}

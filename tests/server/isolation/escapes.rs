//! Attempts of a task to get out: none succeeds, and `docs/dev/isolation.md` says why.

use std::collections::BTreeMap;
use std::net::TcpListener;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{SocketAddr, UnixListener};

use super::*;

/// The results of attempts that succeed in nothing, one line each: name, tab, results separated by bars.
const EXPECTED: &str = include_str!("expected.tsv");

fn expected() -> BTreeMap<&'static str, Vec<&'static str>> {
    let rows = EXPECTED.lines().skip(1).filter_map(|l| l.split_once('\t'));
    rows.map(|(name, results)| (name, results.split('|').collect())).collect()
}

#[test]
fn the_documentation_lists_the_attempts() {
    let text = file("docs/dev/isolation.md");
    let rows = text.lines().filter_map(|l| l.strip_prefix("| `")?.split_once('`'));
    let named: Vec<&str> = rows.map(|(name, _)| name).collect();
    let mut wanted: Vec<&str> = EXPECTED.lines().skip(1).filter_map(|l| Some(l.split_once('\t')?.0)).collect();
    wanted.push("program_of_the_agent_during_commands");
    assert_eq!(named, wanted);
    assert!(named.len() >= 60);
}

/// A segment of shared memory of the host, which is removed in the end.
struct Segment(i32);

impl Segment {
    fn new() -> Option<Segment> {
        let key = i32::try_from(std::process::id()).ok()? + 0x4000_0000;
        let script = format!("defined shmget({key}, 4096, 0666 | 01000) or exit 1");
        Command::new("perl").args(["-e", &script]).status().ok()?.success().then_some(Segment(key))
    }
}

impl Drop for Segment {
    fn drop(&mut self) {
        let script = format!("shmctl(shmget({}, 0, 0), 0, 0)", self.0);
        let _ = Command::new("perl").args(["-e", &script]).status();
    }
}

#[test]
fn no_task_gets_out() {
    if cfg!(not(target_arch = "x86_64")) {
        println!("skipped: the attempts have the numbers of system calls of x86-64");
        return;
    }
    let folder = Folder::new("escapes");
    let tools = folder.path().join("tools");
    std::fs::create_dir(&tools).expect("a folder");
    std::fs::write(tools.join("attempts.pl"), file("tests/server/isolation/attempts.pl")).expect("a file");
    std::fs::write(tools.join("mine"), "mine").expect("a file");
    std::fs::write(tools.join("secret"), "secret").expect("a file");
    std::fs::set_permissions(tools.join("secret"), std::fs::Permissions::from_mode(0o600)).expect("a mode");
    let canary = folder.file("canary", "secret");
    let Some(agent) = start(&folder, "  pids_limit = 64") else { return };
    let Some(segment) = Segment::new() else {
        println!("skipped: the attempts need perl");
        return;
    };
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let name = format!("encamp-escapes-{}", std::process::id());
    let abstract_address = SocketAddr::from_abstract_name(&name).expect("an address");
    let _abstract = UnixListener::bind_addr(&abstract_address).expect("a socket");
    let mut other = Command::new("sleep").arg("600").spawn().expect("a process of the host");

    let canary_path = canary.display().to_string();
    let victim_key = format!("{}/data/alloc/${{NOMAD_ALLOC_ID}}/victim/secrets/key", folder.path().display());
    let mut attacker = task("exec", "");
    attacker["Config"] = json!({"command": "/usr/bin/perl", "args": [
        "/tools/attempts.pl", canary_path, other.id().to_string(),
        listener.local_addr().expect("an address").port().to_string(), name, segment.0.to_string(), victim_key,
    ]});
    attacker["Resources"]["MemoryMB"] = json!(128);
    let mut victim = task("exec", "echo key > /secrets/key; sleep 600; : victim-of-isolation");
    victim["Name"] = json!("victim");
    let mut job = job("escapes", JobType::Service, &[attacker, victim]);
    job["TaskGroups"][0]["Networks"] = json!([{"Mode": "none"}]);
    let alloc = run(&agent, &job, ClientStatus::Running);
    let text = until_output(&folder, &alloc, "main", "\ndone\t\n");

    let mut wrong = Vec::new();
    let mut results: BTreeMap<&str, &str> = text.lines().filter_map(|l| l.split_once('\t')).collect();
    results.remove("done");
    for (name, allowed) in expected() {
        match results.remove(name) {
            Some(result) if allowed.contains(&result) => {}
            result => wrong.push(format!("{name}: {result:?} instead of {allowed:?}")),
        }
    }
    assert!(wrong.is_empty() && results.is_empty(), "{}\n{results:?}", wrong.join("\n"));

    // The program that runs commands in the task can't be changed while it does.
    for _ in 0..10 {
        assert_eq!(exec(&folder, &agent, &alloc, "main", &["/bin/true"]), (String::new(), 0));
    }
    let text = output(&folder, &alloc, "main");
    assert!(!text.contains("opened"), "{text}");

    // What could have been changed of the host was not.
    assert_eq!(std::fs::read_to_string(tools.join("mine")).expect("a file"), "mine");
    let mode = tools.join("mine").metadata().expect("a file").permissions().mode() & 0o777;
    assert_ne!(mode, 0o777);
    assert!(other.try_wait().expect("a process").is_none());
    other.kill().expect("the end");
    other.wait().expect("the end");
    collect(&folder, &agent, "escapes", id(&alloc));
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

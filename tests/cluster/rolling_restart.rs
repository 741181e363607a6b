//! Rolling restart of servers while commands write: no command with all server addresses fails, and all acknowledged
//! writes exist afterwards.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use crate::agent::wait_for;
use crate::member::{Member, Role, leader};
use crate::program::{Folder, Ran, run_for};
use serde_json::{Value as Json, json};

/// Maximum duration of a command: its retries, plus the time for which servers hold a request.
const PATIENCE: Duration = Duration::from_secs(60);
/// The number of variables and namespaces that are rewritten repeatedly.
const NAMES: usize = 8;

/// The n-th write: returns path, value, and the outcome of the command.
type Write = fn(&Writer<'_>, usize) -> (String, String, Ran);

/// A command that is run in a loop.
struct Writer<'a> {
    /// Index of the first address, so that every server is the first one of a writer.
    first: usize,
    addresses: &'a [String],
    /// Runs the command for the n-th time.
    write: Write,
    folder: Folder,
    /// The number of successful commands.
    done: AtomicUsize,
    /// The number of commands that retried.
    again: AtomicUsize,
}

/// The state shared by the writers.
#[derive(Default)]
struct Shared {
    stop: AtomicBool,
    /// The last acknowledged value, by API path.
    acknowledged: Mutex<BTreeMap<String, String>>,
    failures: Mutex<Vec<String>>,
}

impl Writer<'_> {
    fn addresses(&self) -> String {
        let (behind, ahead) = self.addresses.split_at(self.first);
        [ahead, behind].concat().join(",")
    }

    fn run(&self, args: &[&str]) -> Ran {
        // The first address is passed by flag, the others by environment variable.
        let addresses = self.addresses();
        let flags: &[&str] = if self.first == 0 { &["-address", &addresses] } else { &[] };
        // Flags come before arguments and after the two words of the command.
        let (command, rest) = args.split_at(2);
        run_for(PATIENCE, self.folder.path(), &[command, flags, rest].concat(), &[("NOMAD_ADDR", &addresses)], "")
    }

    fn work(&self, shared: &Shared) {
        let mut n = 0;
        while !shared.stop.load(Ordering::Relaxed) {
            let (path, value, ran) = (self.write)(self, n);
            if ran.exit != 0 {
                shared.failures.lock().unwrap().push(format!("{path} {value}: {ran:?}"));
                return;
            }
            let notes = ran.stderr.matches("Trying again for up to 30s: ").count();
            assert!(notes > 0 || ran.stderr.is_empty(), "{}", ran.stderr);
            self.again.fetch_add(notes.min(1), Ordering::Relaxed);
            shared.acknowledged.lock().unwrap().insert(path, value);
            self.done.fetch_add(1, Ordering::Relaxed);
            n += 1;
        }
    }
}

/// Registers a new job each time.
fn job(writer: &Writer<'_>, n: usize) -> (String, String, Ran) {
    let spec = format!(
        "job \"job-{n:03}\" {{\n  type = \"batch\"\n  group \"g\" {{\n    task \"t\" {{\n      driver = \"raw_exec\"\n      \
         config {{\n        command = \"/bin/true\"\n      }}\n    }}\n  }}\n}}\n"
    );
    writer.folder.file("job.hcl", spec);
    let ran = writer.run(&["job", "run", "-detach", "job.hcl"]);
    (format!("/v1/job/job-{n:03}"), format!("job-{n:03}"), ran)
}

/// Rewrites the same variables. The output is JSON, even if messages are printed as well.
fn variable(writer: &Writer<'_>, n: usize) -> (String, String, Ran) {
    let (path, value) = (format!("app/{}", n % NAMES), format!("value {n}"));
    let ran = writer.run(&["var", "put", "-force", "-out", "json", &path, &format!("k={value}")]);
    if ran.exit == 0 {
        let printed: Json = serde_json::from_str(&ran.stdout).unwrap_or_else(|e| panic!("{e}: {}", ran.stdout));
        assert_eq!(printed["Items"]["k"], value.as_str());
    }
    (format!("/v1/var/{path}"), value, ran)
}

/// Rewrites the same namespaces.
fn namespace(writer: &Writer<'_>, n: usize) -> (String, String, Ran) {
    let (name, value) = (format!("team-{}", n % NAMES), format!("version {n}"));
    let ran = writer.run(&["namespace", "apply", "-description", &value, &name]);
    (format!("/v1/namespace/{name}"), value, ran)
}

/// The value that a server has under an API path.
fn stored(at: &Member, path: &str) -> Result<String, String> {
    let object = at.read(&format!("{path}?stale"))?;
    let value = match path.split('/').nth(2) {
        Some("job") => &object["ID"],
        Some("var") => &object["Items"]["k"],
        _ => &object["Description"],
    };
    value.as_str().map(String::from).ok_or_else(|| object.to_string())
}

/// Waits until all servers agree on a leader, know each other, and are voters.
pub(crate) fn whole(servers: &[Member]) {
    leader(servers);
    for server in servers {
        wait_for("the cluster is whole", || {
            let members = server.read("/v1/agent/members")?;
            let voters = server.read("/v1/operator/raft/configuration")?;
            let count = |list: &Json, name: &str, value: Json| {
                list.as_array().map_or(0, |l| l.iter().filter(|m| m[name] == value).count())
            };
            let alive = count(&members["Members"], "Status", json!("alive"));
            match (alive, count(&voters["Servers"], "Voter", json!(true))) {
                (3, 3) => Ok(()),
                _ => Err(format!("{members} {voters}")),
            }
        });
    }
}

/// Waits until each writer has made progress.
fn progress(writers: &[Writer<'_>], shared: &Shared) {
    let before: Vec<usize> = writers.iter().map(|w| w.done.load(Ordering::Relaxed)).collect();
    wait_for("all go on writing", || {
        let failures = shared.failures.lock().unwrap().clone();
        assert!(failures.is_empty(), "{failures:#?}");
        let now: Vec<usize> = writers.iter().map(|w| w.done.load(Ordering::Relaxed)).collect();
        // The first command to finish may have started before.
        let went_on = before.iter().zip(&now).all(|(b, n)| n > &(b + 1));
        if went_on { Ok(()) } else { Err(format!("{before:?} {now:?}")) }
    });
}

fn restarted_one_by_one(
    servers: &mut [Member],
    writers: &[Writer<'_>],
    shared: &Shared,
    signal: rustix::process::Signal,
    leaves: bool,
) {
    for n in 0..servers.len() {
        let code = servers[n].end(signal);
        // A leave that takes longer than five seconds ends with 1, too.
        assert!(code == 1 || leaves && code == 0, "server {n} ended with {code} after {signal:?}");
        progress(writers, shared);
        servers[n].start();
        if leaves {
            let path = format!("/v1/agent/join?address={}", servers[(n + 1) % servers.len()].serf());
            let joined = servers[n].agent().send("PUT", &path, &Json::Null);
            assert_eq!(joined.json()["num_joined"], 1, "{}", joined.body);
        }
        whole(servers);
        progress(writers, shared);
    }
}

#[test]
fn no_command_fails_while_servers_are_restarted() {
    let mut servers: Vec<Member> = Vec::new();
    for n in 0..3 {
        let join = servers.iter().map(Member::serf).collect();
        let mut server = Member::new(&format!("rolling-{n}"), Role::Server { expect: 3, join });
        // On a busy machine, a response may take longer than the election timeout.
        server.more = "leave_on_terminate = true\nserver {\n  raft_multiplier = 2\n}\n".into();
        server.start();
        servers.push(server);
    }
    whole(&servers);
    wait_for("the cluster has a key", || match servers[0].read("/v1/operator/keyring/keys")? {
        Json::Array(keys) if !keys.is_empty() => Ok(()),
        none => Err(none.to_string()),
    });
    // Servers that left become voters again soon.
    let soon = json!({"CleanupDeadServers": false, "LastContactThreshold": "200ms", "MaxTrailingLogs": 250,
        "ServerStabilizationTime": "500ms"});
    let set = servers[0].agent().send("PUT", "/v1/operator/autopilot/configuration", &soon);
    assert_eq!(set.status, 200, "{}", set.body);

    let addresses: Vec<String> = servers.iter().map(|s| s.agent().address()).collect();
    let writes: [(&str, Write); 3] = [("job", job), ("variable", variable), ("namespace", namespace)];
    let writer = |(first, (name, write))| Writer {
        first,
        addresses: &addresses,
        write,
        folder: Folder::new(&format!("rolling-{name}")),
        done: AtomicUsize::new(0),
        again: AtomicUsize::new(0),
    };
    let writers: Vec<Writer<'_>> = writes.into_iter().enumerate().map(writer).collect();
    let shared = Shared::default();
    thread::scope(|scope| {
        for writer in &writers {
            scope.spawn(|| writer.work(&shared));
        }
        // Writers must end even if a check fails, because the scope waits for them.
        let _stop = Stop(&shared.stop);
        progress(&writers, &shared);
        restarted_one_by_one(&mut servers, &writers, &shared, rustix::process::Signal::INT, false);
        restarted_one_by_one(&mut servers, &writers, &shared, rustix::process::Signal::TERM, true);
    });

    assert_eq!(*shared.failures.lock().unwrap(), [] as [String; 0]);
    for writer in &writers {
        let again = writer.again.load(Ordering::Relaxed);
        assert!(again > 0, "the first server of writer {} was down meanwhile", writer.first);
    }
    let acknowledged = shared.acknowledged.lock().unwrap();
    for server in &servers {
        for (path, value) in acknowledged.iter() {
            wait_for("all servers have the acknowledged writes", || match stored(server, path)? {
                got if got == *value => Ok(()),
                got => Err(format!("{path}: {got:?} instead of {value:?}")),
            });
        }
    }
}

/// Stops the writers when dropped.
struct Stop<'a>(&'a AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

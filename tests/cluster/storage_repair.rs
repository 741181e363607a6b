//! Damaged files of real servers (`docs/spec/server.md §23.4`): a server of three repairs itself from the others, and one
//! that is alone refuses to start until the operator gives up what is missing.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::json;

use crate::agent::wait_for;
use crate::member::{Member, Role, leader};
use crate::program::run_in;
use crate::rolling_restart::whole;
use crate::upgrade_support::{reaches, refused, server};

/// The newest segment of the log of a server.
fn segment(of: &Member) -> PathBuf {
    let names = fs::read_dir(of.data().join("server/raft")).expect("the log").map(|e| e.expect("an entry").path());
    names.filter(|p| p.extension().is_some_and(|e| e == "seg")).max().expect("a segment")
}

/// Changes a bit in the last part of a file.
fn flip(path: &Path) {
    let mut bytes = fs::read(path).expect("readable");
    let at = bytes.len() - bytes.len() / 8;
    bytes[at] ^= 1;
    fs::write(path, bytes).expect("written");
}

/// Registers variables; gives how many there are.
fn write(at: &Member, from: usize, count: usize) {
    for n in from..from + count {
        let variable = json!({"Namespace": "default", "Path": format!("kept/{n}"), "Items": {"n": n.to_string()}});
        wait_for("a write", || match at.agent().send("PUT", &format!("/v1/var/kept/{n}"), &variable) {
            reply if reply.status == 200 => Ok(()),
            reply => Err(reply.body),
        });
    }
}

/// The number of variables that a server itself has.
fn variables(at: &Member) -> Result<usize, String> {
    let list = at.read("/v1/vars?prefix=kept/&stale")?;
    Ok(list.as_array().map_or(0, Vec::len))
}

#[test]
fn a_damaged_server_is_repaired_by_the_others() {
    let mut servers: Vec<Member> = Vec::new();
    for n in 0..3 {
        let mut new = server(&format!("repair-{n}"), &servers);
        new.start();
        servers.push(new);
    }
    whole(&servers);
    reaches(&servers, "2");
    write(&servers[leader(&servers)], 0, 20);
    let victim = leader(&servers);
    servers[victim].kill();
    let damaged = segment(&servers[victim]);
    flip(&damaged);
    let (directory, data) = (servers[victim].folder().path().to_path_buf(), servers[victim].data());
    let examined = run_in(&directory, &["operator", "raft", "repair", "-dry-run", &data.display().to_string()]);
    let name = damaged.file_name().and_then(|n| n.to_str()).expect("a name");
    assert!(
        examined.stdout.contains(name) && examined.stdout.contains("Other servers may have"),
        "{}",
        examined.stdout
    );
    let rest: Vec<&Member> = servers.iter().enumerate().filter(|(n, _)| *n != victim).map(|(_, s)| s).collect();
    wait_for("the others have a leader", || {
        rest[0]
            .read("/v1/status/leader")
            .and_then(|l| if l.as_str().is_some_and(|l| !l.is_empty()) { Ok(()) } else { Err(l.to_string()) })
    });
    write(rest[0], 20, 5);
    servers[victim].start();
    servers[victim].agent_mut().until("repaired: this server has all that was committed");
    whole(&servers);
    wait_for("the server has all variables", || match variables(&servers[victim])? {
        25 => Ok(()),
        n => Err(format!("{n} variables")),
    });
    let info = servers[victim].agent().get("/v1/agent/self");
    assert_eq!(info["stats"]["raft"]["in_doubt"], "false", "{}", info["stats"]["raft"]);
    assert_ne!(info["stats"]["raft"]["damaged_files"], "0", "{}", info["stats"]["raft"]);
    assert!(segment(&servers[victim]).parent().is_some_and(|d| d.join(format!("{name}.damaged-0")).exists()));
}

#[test]
fn a_server_alone_says_what_is_lost_and_gives_it_up_when_told() {
    let mut alone = Member::new("repair-alone", Role::Server { expect: 1, join: Vec::new() });
    alone.start();
    leader(std::slice::from_ref(&alone));
    reaches(std::slice::from_ref(&alone), "2");
    write(&alone, 0, 20);
    alone.kill();
    flip(&segment(&alone));
    let before = fs::read(segment(&alone)).expect("readable");
    let said = refused(&mut alone);
    assert!(said.contains("no other server has a copy: entries"), "{said}");
    assert!(said.contains("encamp operator raft repair -dry-run"), "{said}");
    assert_eq!(fs::read(segment(&alone)).expect("readable"), before, "nothing was changed");

    let (directory, data) = (alone.folder().path().to_path_buf(), alone.data().display().to_string());
    let repair = |flags: &[&str]| run_in(&directory, &[&["operator", "raft", "repair"], flags, &[&data]].concat());
    let shown = repair(&["-dry-run"]);
    assert!(
        shown.stdout.contains("Lost here: entries") && shown.stdout.contains("Nothing was changed"),
        "{}",
        shown.stdout
    );
    let refused = repair(&[]);
    assert!(refused.exit == 1 && refused.stderr.contains("-accept-loss"), "{}", refused.stderr);
    assert_eq!(fs::read(segment(&alone)).expect("readable"), before, "nothing was changed");
    let done = repair(&["-accept-loss"]);
    assert!(done.exit == 0 && done.stdout.contains("Repaired"), "{}{}", done.stdout, done.stderr);
    let again = repair(&["-dry-run"]);
    assert!(again.stdout.contains("No damage was found"), "{}", again.stdout);
    alone.start();
    leader(std::slice::from_ref(&alone));
    wait_for("most variables are there", || match variables(&alone)? {
        n if (1..=20).contains(&n) => Ok(()),
        n => Err(format!("{n} variables")),
    });
    write(&alone, 30, 1);
}

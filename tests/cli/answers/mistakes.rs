//! Mistakes on the command line: what is printed says what to do.

use std::io::{Read, Write};
use std::net::TcpListener;

use crate::answers::root;
use crate::program::{Folder, run, run_in};

#[test]
fn mistyped_commands_and_flags_are_met_with_suggestions() {
    for (args, exit, last) in [
        (&["jbo", "plan"][..], 127, "There is no command \"jbo\"; did you mean \"job\"?\n"),
        (&["job", "plna", "x.hcl"], 1, "There is no command \"job plna\"; did you mean \"job plan\"?\n"),
        (&["what-fi"], 127, "There is no command \"what-fi\"; did you mean \"what-if\"?\n"),
        (
            &["operator", "raft", "list-peer"],
            1,
            "There is no command \"operator raft list-peer\"; did you mean \"operator raft list-peers\"?\n",
        ),
        (&["nosuch"], 127, ""),
        (&["job", "nosuch"], 1, ""),
        (&[], 127, ""),
    ] {
        let ran = run(args);
        assert_eq!((ran.stderr.as_str(), ran.exit), (last, exit), "{args:?}");
        assert!(ran.stdout.starts_with("Usage: encamp "), "{args:?}");
    }
    for (args, lines) in [
        (&["job", "plan", "-snapshto", "x"][..], "flag provided but not defined: -snapshto\nDid you mean -snapshot?\n"),
        (&["what-if", "--drian=x"], "flag provided but not defined: -drian\nDid you mean -drain?\n"),
        (&["job", "plan", "-nope", "x"], "flag provided but not defined: -nope\n"),
    ] {
        let ran = run(args);
        assert_eq!((ran.stderr.as_str(), ran.exit), (lines, 255), "{args:?}");
    }
}

#[test]
fn an_address_without_its_scheme_is_refused_with_the_right_one() {
    for address in ["127.0.0.1:4646", "localhost:4646"] {
        let ran = run(&["job", "status", "-address", address]);
        let want = format!(
            "Error initializing client: invalid address \"{address}\": it has to start with http://, https:// or unix://; did you \
             mean \"http://{address}\"?\n"
        );
        assert_eq!((ran.stderr, ran.exit), (want, 1));
    }
}

/// A port where everybody gets the same bytes; its address without a scheme.
pub(crate) fn answering(bytes: &'static [u8]) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let _ = stream.read(&mut [0; 512]).and_then(|_| stream.write_all(bytes));
        }
    });
    address
}

#[test]
fn https_to_a_server_without_tls_says_so() {
    let address = answering(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n");
    let ran = run(&["job", "status", "-address", &format!("https://{address}")]);
    let want = format!(
        "Error querying jobs: Get \"https://{address}/v1/jobs\": http: server gave HTTP response to HTTPS client; it does not use \
         TLS: give its address with http://\n"
    );
    assert_eq!((ran.stderr, ran.exit), (want, 1));
}

#[test]
fn http_to_a_server_with_tls_says_so() {
    // What TLS servers send to clients that do not speak TLS: an alert.
    let address = answering(&[0x15, 3, 3, 0, 2, 2, 10]);
    let ran = run(&["job", "status", "-address", &format!("http://{address}")]);
    let end = "the response is not HTTP; if the server uses TLS, give its address with https://\n";
    assert!(ran.stderr.ends_with(end), "{}", ran.stderr);
    assert_eq!(ran.exit, 1);
}

#[test]
fn job_files_and_snapshots_in_each_others_places_are_recognised() {
    let demo = root().join("fixtures/demo");
    let plan = run_in(&demo, &["job", "plan", "-snapshot", "trainer-fails.hcl", "trainer-fails.hcl"]);
    assert!(plan.stderr.contains("it is not a JSON object, and therefore not a snapshot."), "{}", plan.stderr);
    assert!(plan.stderr.contains("A job file is given as an argument"), "{}", plan.stderr);
    let folder = Folder::new("mistakes");
    let zipped = ["snapshot", "anonymize", "cluster.json", "-out"];
    let copy = folder.path().join("c.json.zst").display().to_string();
    assert_eq!(run_in(&demo, &[&zipped[..], &[&copy]].concat()).exit, 0);
    for (args, exit) in [
        (&["job", "plan", "cluster.json"][..], 255),
        (&["job", "plan", "-json", "cluster.json"], 255),
        (&["job", "plan", "-snapshot", "cluster.json", "cluster.json"], 255),
        (&["job", "plan", copy.as_str()], 255),
        (&["job", "run", "cluster.json"], 1),
        (&["job", "validate", "cluster.json"], 1),
        (&["capacity", "cluster.json"], 255),
    ] {
        let ran = run_in(&demo, args);
        let name = args.last().unwrap();
        let want = format!(
            "Error getting job struct: {name} is a snapshot of a cluster, not a job file: give it with -snapshot to job plan, \
             capacity or what-if, and the job file after the flags\n"
        );
        assert_eq!((ran.stderr, ran.stdout.as_str(), ran.exit), (want, "", exit), "{args:?}");
    }
}

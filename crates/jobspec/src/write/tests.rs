use encamp_model::api;
use serde_json::json;

use super::*;

fn job(members: Json) -> api::Job {
    let mut job: api::Job = serde_json::from_value(members).expect("a job");
    canonicalize(&mut job);
    job
}

#[test]
fn a_job_file_says_what_is_a_default() {
    let written = write(&job(json!({
        "ID": "web", "Datacenters": ["dc1"], "Priority": 70,
        "TaskGroups": [{"Name": "g", "Tasks": [{"Name": "t", "Driver": "exec", "Config": {"command": "/bin/date"}}]}],
    })));
    let written = written.expect("a file");
    assert_eq!(written.lost, Vec::<String>::new());
    println!("{}", written.text);
    assert!(written.text.starts_with("job \"web\" {\n"), "{}", written.text);
}

#[test]
fn explore() {
    let dir = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/oracle/jobspec");
    let (mut n, mut bad) = (0, 0);
    for e in std::fs::read_dir(dir).unwrap() {
        let p = e.unwrap().path();
        let name = p.display().to_string();
        if !(name.ends_with(".registered.json") || name.ends_with(".parsed.json")) {
            continue;
        }
        let text = std::fs::read(&p).unwrap();
        let Ok(mut job) = crate::parse::parse_json(&text) else {
            println!("UNREAD {name}");
            continue;
        };
        canonicalize(&mut job);
        n += 1;
        match write(&job) {
            Ok(w) if w.lost.is_empty() => {}
            Ok(w) => {
                bad += 1;
                println!("LOST {name}: {:?}", w.lost);
            }
            Err(e) => {
                bad += 1;
                println!("ERR {name}: {e}");
            }
        }
    }
    println!("{bad} of {n}");
}

//! Symbolic links that a task creates where the agent reads and writes.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::time::{Duration, Instant};

use super::*;
use encamp_model::{ClientStatus, JobType};
use encamp_test_support::tier;

/// Content that must never appear in a response.
const FOREIGN: &str = "FOREIGN-CONTENT ";
/// The same content as the data of a frame starts with.
const FOREIGN_FRAME: &str = "Rk9SRUlHTi";
/// The size of that file, which no other file here has.
const FOREIGN_SIZE: usize = 4240;

/// Files outside the allocation.
fn outside(folder: &Folder) -> PathBuf {
    let dir = folder.path().join("outside");
    std::fs::create_dir_all(&dir).expect("a directory");
    for name in ["f", "foreign-entry", "main.stdout.0", "main.stderr.0"] {
        std::fs::write(dir.join(name), FOREIGN.repeat(FOREIGN_SIZE / FOREIGN.len())).expect("a file");
    }
    dir
}

fn is_foreign(body: &str) -> bool {
    let marks = [FOREIGN, FOREIGN_FRAME, "foreign-entry", &format!("\"Size\":{FOREIGN_SIZE}")];
    marks.iter().any(|mark| body.contains(mark))
}

/// All ways to read files of an allocation, with links at the paths.
fn paths(alloc: &str, file: &str, dir: &str) -> Vec<String> {
    vec![
        format!("/v1/client/fs/cat/{alloc}?path={file}"),
        format!("/v1/client/fs/readat/{alloc}?path={file}&offset=0&limit=100"),
        format!("/v1/client/fs/stat/{alloc}?path={file}"),
        format!("/v1/client/fs/ls/{alloc}?path={dir}"),
        format!("/v1/client/fs/stream/{alloc}?path={file}&follow=false"),
        format!("/v1/client/fs/logs/{alloc}?task=main&type=stdout&plain=true"),
        format!("/v1/client/fs/logs/{alloc}?task=main&type=stderr"),
        format!("/v1/client/fs/ls/{alloc}?path=alloc/logs"),
    ]
}

/// A connection with keep-alive.
struct Connection(BufReader<TcpStream>);

impl Connection {
    /// The body of a response, whatever its status.
    fn get(&mut self, path: &str) -> String {
        write!(self.0.get_mut(), "GET {path} HTTP/1.1\r\nHost: x\r\n\r\n").expect("written");
        let (mut line, mut length) = (String::new(), None);
        loop {
            line.clear();
            self.0.read_line(&mut line).expect("a line of the head");
            let lower = line.to_lowercase();
            if let Some(text) = lower.strip_prefix("content-length:") {
                length = text.trim().parse::<usize>().ok();
            }
            if line.trim().is_empty() {
                break;
            }
        }
        let mut body = Vec::new();
        match length {
            Some(length) => {
                body.resize(length, 0);
                self.0.read_exact(&mut body).expect("a body");
            }
            None => loop {
                line.clear();
                self.0.read_line(&mut line).expect("the size of a chunk");
                let size = usize::from_str_radix(line.trim(), 16).unwrap_or_else(|_| panic!("{path}: {line:?}"));
                let at = body.len();
                body.resize(at + size, 0);
                self.0.read_exact(&mut body[at..]).expect("a chunk");
                line.clear();
                self.0.read_line(&mut line).expect("the end of a chunk");
                if size == 0 {
                    break;
                }
            },
        }
        String::from_utf8_lossy(&body).into_owned()
    }
}

#[test]
fn links_that_lead_out_are_not_read() {
    let folder = Folder::new("node-links");
    let outside = outside(&folder);
    let agent = start(&folder, "");
    let script = "echo own; mkdir local/d; echo own > local/d/f; ln -s d/f local/inside; \
                  touch local/done; exec sleep 600";
    let alloc = run(&agent, &job("links", JobType::Service, &[task("main", script)]), ClientStatus::Running);
    let (dir, id) = (dir(&folder, &alloc), id(&alloc));
    content(&dir.join("main/local/done"));
    let get = |path: &str| agent.ask("GET", path).1;
    assert!(get(&paths(id, "main/local/inside", "main/local")[0]).contains("own"), "links inside are followed");
    for (link, target) in [("main/local/out", outside.clone()), ("main/local/file", outside.join("f"))] {
        symlink(target, dir.join(link)).expect("a link");
    }
    let logs = dir.join("alloc/logs");
    for name in ["main.stdout.1", "main.stderr.1"] {
        symlink(outside.join("f"), logs.join(name)).expect("a link");
    }
    for file in ["main/local/out/f", "main/local/file", "main/local/out/../outside/f", "../../../outside/f"] {
        for path in paths(id, file, "main/local/out") {
            let body = get(&path);
            assert!(!is_foreign(&body), "{path}: {body}");
        }
    }
    std::fs::rename(&logs, dir.join("alloc/logs.old")).expect("moved");
    symlink(&outside, &logs).expect("a link");
    for path in paths(id, "alloc/logs/f", "alloc/logs") {
        let body = get(&path);
        assert!(!is_foreign(&body), "{path}: {body}");
    }
}

#[test]
fn links_are_not_written_through_when_a_task_starts_again() {
    let folder = Folder::new("node-writes");
    let outside = outside(&folder);
    let agent = start(&folder, "");
    let out = outside.display();
    // Files that the agent writes for the next start: logs, their pipes, the exit status of the task.
    let script = format!(
        "if test -e local/again; then touch local/twice; exec sleep 600; fi; touch local/again; cd ../alloc/logs; \
         for f in *; do ln -sf {out}/f \"$f\"; done; ln -s {out}/f main.stdout.1; for f in .*.fifo; do \
         ln -sf {out}/f $f; done; cd ../../main; rm executor.out; ln -s {out}/f executor.out; \
         mv private old; ln -s {out} private; mv tmp old.tmp; ln -s {out} tmp; exit 1"
    );
    let mut main = task("main", &script);
    main["RestartPolicy"] = json!({"Attempts": 3, "Mode": "fail", "Interval": 60_000_000_000_i64, "Delay": 1_000_000});
    let before = mode(&outside);
    let mut job = job("writes", JobType::Service, &[main]);
    job["TaskGroups"][0]["RestartPolicy"] = Json::Null;
    let reply = agent.send("PUT", "/v1/jobs", &json!({ "Job": job }));
    assert_eq!(reply.status, 200, "{}", reply.body);
    // If its private directory is replaced by a link, the start of the task fails, or its exit status is lost.
    wait_for("the end or the second start", || {
        let list = agent.list("/v1/job/writes/allocations");
        let alloc = list.first().ok_or("none yet")?;
        let over = alloc["ClientStatus"] == "failed" || dir(&folder, alloc).join("main/local/twice").exists();
        if over { Ok(()) } else { Err(alloc["TaskStates"].to_string()) }
    });
    for name in ["f", "main.stdout.0", "main.stderr.0"] {
        let text = std::fs::read_to_string(outside.join(name)).expect("a file");
        assert_eq!(text, FOREIGN.repeat(FOREIGN_SIZE / FOREIGN.len()), "{name}");
    }
    assert_eq!((std::fs::read_dir(&outside).expect("listed").count(), mode(&outside)), (4, before));
}

fn mode(path: &Path) -> (u32, u32) {
    use std::os::unix::fs::MetadataExt;
    let meta = path.metadata().expect("a directory");
    (meta.mode(), meta.uid())
}

/// The program of the racing task: this test program, running only this test.
#[test]
#[ignore = "runs for ever as the task of another test"]
fn swap_directories_for_links() {
    let Ok(outside) = std::env::var("SWAP_OUTSIDE") else { return };
    let places = ["NOMAD_TASK_DIR", "NOMAD_ALLOC_DIR"].map(|name| PathBuf::from(std::env::var(name).expect(name)));
    let names = [places[0].join("d"), places[1].join("logs")];
    std::fs::create_dir_all(&names[0]).expect("a directory");
    std::fs::write(names[0].join("f"), "own").expect("a file");
    let beside = |path: &Path, suffix: &str| path.with_extension(suffix);
    for name in &names {
        symlink(&outside, beside(name, "link")).expect("a link");
    }
    std::fs::write(places[0].join("ready"), "").expect("a file");
    // In case the process is not stopped.
    let end = Instant::now() + Duration::from_secs(1200);
    while Instant::now() < end {
        for name in &names {
            let (real, link) = (beside(name, "real"), beside(name, "link"));
            for (from, to) in [(name, &real), (&link, name), (name, &link), (&real, name)] {
                std::fs::rename(from, to).expect("renamed");
            }
        }
    }
}

#[test]
fn a_task_that_swaps_directories_for_links_cannot_read_foreign_files() {
    let count = tier::rounds("ENCAMP_LINK_REQUESTS", 400, 4000);
    let folder = Folder::new("node-race");
    let outside = outside(&folder);
    let agent = start(&folder, "");
    let own = std::env::current_exe().expect("this program");
    let mut main = task("main", "");
    main["Config"] = json!({
        "command": own, "args": ["node_agent::links::swap_directories_for_links", "--exact", "--ignored", "--nocapture"],
    });
    main["Env"] = json!({"SWAP_OUTSIDE": outside});
    main["Resources"]["MemoryMB"] = json!(300);
    let alloc = run(&agent, &job("race", JobType::Service, &[main]), ClientStatus::Running);
    content(&dir(&folder, &alloc).join("main/local/ready"));
    let paths = paths(id(&alloc), "main/local/d/f", "main/local/d");
    let threads: Vec<_> = (0..4_usize)
        .map(|thread| {
            let (paths, stream) = (paths.clone(), agent.connect());
            std::thread::spawn(move || {
                let mut connection = Connection(BufReader::new(stream));
                let (mut own, mut refused, mut foreign) = (0, 0, Vec::new());
                for n in (thread..count).step_by(4) {
                    let path = &paths[n / 4 % paths.len()];
                    let body = connection.get(path);
                    if is_foreign(&body) {
                        foreign.push(format!("{path}: {body}"));
                    }
                    own += usize::from(body == "own");
                    refused += usize::from(body.contains("escapes the alloc directory"));
                }
                (own, refused, foreign)
            })
        })
        .collect();
    let (mut own, mut refused, mut foreign) = (0, 0, Vec::new());
    for thread in threads {
        let (o, r, f) = thread.join().expect("a thread");
        (own, refused) = (own + o, refused + r);
        foreign.extend(f);
    }
    agent.send("DELETE", "/v1/job/race", &Json::Null);
    super::alloc(&agent, "race", ClientStatus::Complete);
    println!("{count} requests: {own} own contents, {refused} refused, {} foreign", foreign.len());
    assert!(foreign.is_empty(), "{} of {count}, the first: {}", foreign.len(), foreign[0]);
    assert!(own > 0 && refused > 0, "the links were there only at times: {own} {refused}");
}

//! A cluster on one machine, from an empty node to collected garbage, by the commands of the real program. The commands
//! and what they print are those of a section of docs/guide/cluster.md; `ENCAMP_UPDATE=1 cargo test --test cli
//! walkthrough` writes what is printed.

use crate::agent;
use crate::program;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::agent::{Agent, wait_for};
use crate::program::{Folder, run_for};
use regex::Regex;
use serde_json::Value as Json;
use sha2::{Digest, Sha256};

const DOCUMENT: &str = "docs/guide/cluster.md";
const SECTION: &str = "## On your laptop\n";
const BLOCK: &str = "```console\n";
const END: &str = "```";
const PROMPT: &str = "$ encamp ";

/// IDs, which are others every time, and what the document has in their places: the same for the first, second, … that
/// appears.
#[derive(Default)]
struct Ids {
    /// By the first eight digits of the real one: the shown one, and the whole real one when it was seen.
    known: BTreeMap<String, (String, String)>,
}

impl Ids {
    fn shown(&mut self, id: &str) -> String {
        let next = Sha256::digest(self.known.len().to_string());
        let entry = self.known.entry(id[..8].to_string()).or_insert_with(|| {
            let hex = next.iter().fold(String::new(), |mut hex, b| {
                let _ = write!(hex, "{b:02x}");
                hex
            });
            let id = [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..32]].join("-");
            (id, String::new())
        });
        if id.len() > entry.1.len() {
            entry.1 = id.to_string();
        }
        entry.0[..id.len()].to_string()
    }

    /// The real ID for one of the document.
    fn real(&self, word: &str) -> Option<String> {
        let found = self.known.iter().find(|(_, (shown, _))| word.len() >= 8 && shown.starts_with(word));
        found.map(|(short, (_, full))| if word.len() > 8 { full.clone() } else { short.clone() })
    }
}

/// What is printed, without what differs from run to run.
fn steady(text: &str, ids: &mut Ids) -> String {
    let pattern = |p: &str| Regex::new(p).expect("a pattern");
    // The monitor may see how an allocation goes on, and the allocation before its evaluation's deployment.
    let text = pattern("(?m)^ .*Allocation \".* status changed: .*\n").replace_all(text, "");
    let late = pattern("(?m)^((?: .*Allocation \".* created: .*\n)+)( .*Evaluation within deployment: .*\n)");
    let text = late.replace(&text, "$2$1");
    let id = pattern(r"\b[0-9a-f]{8}(-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})?\b");
    let text = id.replace_all(&text, |found: &regex::Captures<'_>| ids.shown(&found[0]));
    let text = pattern(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ").replace_all(&text, "2026-11-22T09:30:00Z");
    // Ages, in columns as wide as their headings.
    let text = pattern(r"\d+[dhms][\ddhms]* ago( *)").replace_all(&text, |found: &regex::Captures<'_>| {
        if found[1].is_empty() { "5s ago".to_string() } else { "5s ago   ".into() }
    });
    let text = pattern(r"Created +Modified").replace_all(&text, "Created  Modified");
    // What the task used last, if that was measured at all.
    let used = pattern(r"CPU +Memory +Disk +Addresses\n\d+/500 MHz +\S+ \S+/1.0 GiB +300 MiB");
    let text =
        used.replace_all(&text, "CPU        Memory           Disk     Addresses\n0/500 MHz  1.5 MiB/1.0 GiB  300 MiB");
    // Which of the equal allocations comes first.
    let text = pattern(r"= reports\.render\[\d\]").replace_all(&text, "= reports.render[0]");
    // A deployment that is watched is printed as often as it changed: its end is enough.
    let mut frames: Vec<&str> = text.split("\n    \n").collect();
    if frames.len() > 2 {
        frames.drain(1..frames.len() - 1);
    }
    frames.join("\n    \n").lines().map(str::trim_end).collect::<Vec<_>>().join("\n")
}

/// A document and what runs it.
struct Walk<'a> {
    agent: &'a Agent,
    folder: &'a Folder,
    ids: Ids,
    /// Commands as they are in the document, and what they printed.
    ran: Vec<(String, String)>,
}

impl Walk<'_> {
    fn run(&mut self, command: &str) -> String {
        self.settle();
        let given: Vec<String> = words(command).into_iter().map(|w| self.ids.real(&w).unwrap_or(w)).collect();
        let args: Vec<&str> = given.iter().map(String::as_str).collect();
        let env = [("NOMAD_ADDR", self.agent.address())];
        let env = env.each_ref().map(|(k, v)| (*k, v.as_str()));
        let ran = run_for(agent::PATIENCE, self.folder.path(), &args, &env, "");
        let wanted = if command.starts_with("job plan") { 1 } else { 0 };
        let before = || self.ran.iter().map(|(c, p)| format!("$ encamp {c}\n{p}\n")).collect::<String>();
        assert_eq!(ran.exit, wanted, "{}$ encamp {command}\n{}{}", before(), ran.stderr, ran.stdout);
        if command == "system gc" {
            self.collected();
        }
        let printed = steady(&format!("{}{}", ran.stderr, ran.stdout), &mut self.ids);
        self.ran.push((command.into(), printed.clone()));
        printed
    }

    /// Waits until everything that was asked for is done.
    fn settle(&self) {
        wait_for("the cluster comes to rest", || {
            let open = |path: &str, is: &dyn Fn(&Json) -> bool| match self.agent.list(path).iter().find(|o| is(o)) {
                Some(o) => Err(format!("{path}: {o}")),
                None => Ok(()),
            };
            open("/v1/evaluations", &|e| e["Status"] == "pending")?;
            open("/v1/deployments", &|d| d["Status"] == "running")?;
            open("/v1/allocations", &|a| {
                (a["DesiredStatus"] == "run") != (a["ClientStatus"] == "running")
                    || a["DesiredStatus"] != "run" && a["ClientStatus"] != "complete"
            })
        });
    }

    fn collected(&self) {
        wait_for("the garbage is collected", || {
            let jobs = self.agent.list("/v1/jobs");
            let allocations = self.agent.list("/v1/allocations");
            let dead = jobs.iter().filter(|j| j["Status"] == "dead");
            match dead.chain(allocations.iter().filter(|a| a["ClientStatus"] == "complete")).next() {
                Some(left) => Err(left.to_string()),
                None => Ok(()),
            }
        });
    }

    /// Runs the commands of a text and puts what they print behind them.
    fn redone(&mut self, text: &str) -> String {
        let (mut out, mut rest) = (String::new(), text);
        while let Some((before, after)) = rest.split_once(BLOCK) {
            let (block, after) = after.split_once(END).expect("the end of the block");
            out += &format!("{before}{BLOCK}");
            for command in block.lines().filter_map(|l| l.strip_prefix(PROMPT)) {
                let printed = self.run(command);
                out += &format!("{PROMPT}{command}\n{printed}{}", if printed.is_empty() { "" } else { "\n" });
            }
            out += END;
            rest = after;
        }
        out + rest
    }

    fn printed(&self, command: &str) -> &str {
        let found = self.ran.iter().rev().find(|(c, _)| c.starts_with(command));
        &found.unwrap_or_else(|| panic!("no `encamp {command}` in the document")).1
    }
}

/// The words of a command; those between apostrophes are one.
fn words(command: &str) -> Vec<String> {
    let parts = command.split('\'').enumerate();
    let split = |(i, part): (usize, &str)| match i % 2 {
        0 => part.split_whitespace().map(String::from).collect::<Vec<_>>(),
        _ => vec![part.to_string()],
    };
    parts.flat_map(split).collect()
}

#[test]
fn the_document_is_what_happens() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = Folder::new("walkthrough");
    std::os::unix::fs::symlink(root.join("fixtures"), folder.path().join("fixtures")).expect("a link");
    let document = root.join(DOCUMENT);
    let text = std::fs::read_to_string(&document).expect("the document");
    let (before, rest) = text.split_once(SECTION).expect("the section");
    let (section, after) = rest.split_once("\n## ").expect("the end of the section");
    let start = "```sh\nencamp agent -dev -config fixtures/laptop/agent.hcl\n```";
    assert!(section.contains(start), "the agent is started otherwise than here");

    let begin = Instant::now();
    let mut agent = Agent::start(&folder, "", &["-dev", "-config", "fixtures/laptop/agent.hcl", "-node", "laptop"]);
    wait_for("the node is ready", || match agent.list("/v1/nodes").first() {
        Some(node) if node["Status"] == "ready" => Ok(()),
        other => Err(format!("{other:?}")),
    });
    println!("node ready {} ms after the start", begin.elapsed().as_millis());
    assert!(!program::optimised() || begin.elapsed() < Duration::from_secs(5), "{:?}", begin.elapsed());

    let mut walk = Walk { agent: &agent, folder: &folder, ids: Ids::default(), ran: Vec::new() };
    let mut parts = section.split_inclusive("<!-- preempted -->\n");
    let mut now = walk.redone(parts.next().expect("the first part"));
    preempted(&mut walk);
    parts.for_each(|part| now += &walk.redone(part));
    shown(&walk);
    agent.signal(rustix::process::Signal::INT);
    assert_eq!(agent.exit(), 1, "{}", agent.seen);
    let left = std::fs::read_dir(folder.path()).expect("a folder").map(|e| e.expect("an entry").file_name());
    let mut left: Vec<_> = left.map(|name| name.to_string_lossy().into_owned()).collect();
    left.sort();
    assert_eq!(left, ["agent.hcl", "disk.hcl", "fixtures"]);

    let now = format!("{before}{SECTION}{now}\n## {after}");
    if std::env::var_os("ENCAMP_UPDATE").is_some() {
        std::fs::write(&document, &now).expect("the document is written");
        return;
    }
    for (line, (shown, printed)) in text.lines().zip(now.lines()).enumerate() {
        assert_eq!(shown, printed, "{DOCUMENT} line {}; ENCAMP_UPDATE=1 writes what is printed", line + 1);
    }
    assert_eq!(text.lines().count(), now.lines().count());
}

/// What the interface tells of the preemption.
fn preempted(walk: &mut Walk<'_>) {
    walk.settle();
    let all = walk.agent.list("/v1/allocations?resources=true");
    let of = |job: &str| all.iter().filter(|a| a["JobID"] == job).collect::<Vec<_>>();
    let (winners, victims) = (of("webapp"), of("reports"));
    assert_eq!((winners.len(), victims.len(), of("index").len(), of("cache").len()), (1, 2, 2, 1), "{all:?}");
    let winner = winners[0]["ID"].as_str().expect("an ID");
    let mut ids = Vec::new();
    for victim in victims {
        assert_eq!(victim["PreemptedByAllocation"], winner, "{victim}");
        let id = victim["ID"].as_str().expect("an ID");
        let whole = walk.agent.get(&format!("/v1/allocation/{id}"));
        assert_eq!(whole["PreemptedByAllocation"], winner);
        assert_eq!((&whole["DesiredStatus"], &whole["ClientStatus"]), (&"evict".into(), &"complete".into()));
        assert_eq!(whole["DesiredDescription"], format!("Preempted by alloc ID {winner}"));
        ids.push(id);
    }
    let whole = walk.agent.get(&format!("/v1/allocation/{winner}"));
    let mut named: Vec<&str> =
        whole["PreemptedAllocations"].as_array().expect("a list").iter().flat_map(Json::as_str).collect();
    named.sort_unstable();
    ids.sort_unstable();
    assert_eq!(named, ids);
    for job in ["index", "cache"] {
        for allocation in of(job) {
            assert_eq!((&allocation["DesiredStatus"], &allocation["ClientStatus"]), (&"run".into(), &"running".into()));
        }
    }
}

/// The document shows what it is there for.
fn shown(walk: &Walk<'_>) {
    let has = |command: &str, texts: &[&str]| {
        let printed = walk.printed(command);
        texts.iter().for_each(|t| assert!(printed.contains(t), "encamp {command}: no {t:?} in\n{printed}"));
    };
    has("operator scheduler set-config", &["Scheduler configuration updated!"]);
    has("job plan", &["Preemptions:", "reports  render", "All tasks successfully allocated"]);
    has("job run -check-index", &["finished with status \"complete\"", "Deployment completed successfully"]);
    has("job status reports", &["evict", "Dimension \"cpu\" exhausted on 1 nodes"]);
    has("alloc status -t", &["4e074085-62be-", "4b227777-d4dd-"]);
    has("alloc status 4e074085", &["Desired Status      = evict", "Desired Description = Preempted by alloc ID "]);
    has("alloc logs", &["webapp.web[0] serves"]);
    has("system gc", &[]);
    let left = walk.printed("job status");
    assert!(left.contains("webapp") && !left.contains("reports"), "{left}");
}

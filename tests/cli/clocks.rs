//! Commands that read snapshots do not follow the clock of the machine: two runs years apart print the same bytes.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use encamp_cli::command::Registry;

use crate::program::{Folder, Ran, repository, run_with};

/// Two times: before and after those of the snapshots.
const SECONDS: [&str; 2] = ["1000000000", "2100000000"];

/// The library that replaces the clock of a program.
fn shim(folder: &Path) -> PathBuf {
    let library = folder.join("clock.so");
    let source = repository().join("tests/cli/clock_shim.c");
    let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".into());
    let made = Command::new(compiler).args(["-shared", "-fPIC", "-O1", "-o"]).arg(&library).arg(source).status();
    assert!(made.is_ok_and(|status| status.success()), "a C compiler makes the library");
    library
}

/// Without what tells the age of a file, which is about the clock.
fn without_age(text: &str) -> String {
    let age = |line: &&str| !line.starts_with("Age ") && !line.trim_start().starts_with("\"AgeSeconds\"");
    text.lines().filter(age).collect::<Vec<_>>().join("\n")
}

fn twice(folder: &Path, library: &Path, args: &[&str]) -> [Ran; 2] {
    let library = library.to_str().expect("UTF-8");
    SECONDS.map(|second| run_with(folder, args, &[("LD_PRELOAD", library), ("CLOCK_SECOND", second)], None))
}

/// The command lines; SNAPSHOT stands for the file.
const LINES: &[&str] = &[
    "job plan -snapshot=SNAPSHOT periodic.hcl",
    "job plan -snapshot=SNAPSHOT -json-output periodic.hcl",
    "job plan -snapshot=SNAPSHOT -explain -placements -rollout api-destructive.hcl",
    "job plan -snapshot=SNAPSHOT -json-output -explain -rollout api-destructive.hcl",
    "job plan -snapshot=SNAPSHOT -markdown -explain trainer-fails.hcl",
    "job plan -snapshot=SNAPSHOT exporter-system.hcl web-canary.hcl periodic.hcl",
    "job plan -snapshot=SNAPSHOT -drain=dc1-general-01 api-inplace.hcl",
    "job plan -snapshot=SNAPSHOT -html=report.html api-destructive.hcl",
    "what-if -snapshot=SNAPSHOT -drain=dc1-general-01",
    "what-if -snapshot=SNAPSHOT -json -down=dc1-general-01",
    "capacity -snapshot=SNAPSHOT api-destructive.hcl",
    "capacity -snapshot=SNAPSHOT -survive=node -json-output api-destructive.hcl",
    "node drain -plan -snapshot=SNAPSHOT dc1-general-01 dc1-general-02",
    "job diff -snapshot=SNAPSHOT api api-destructive.hcl",
    "job inspect -snapshot=SNAPSHOT api",
    "job plan -snapshot=SNAPSHOT -suggest trainer-fails.hcl",
    "job validate -snapshot=SNAPSHOT periodic.hcl",
    "job launches -snapshot=SNAPSHOT periodic.hcl",
    "job launches -snapshot=launches.json -json-output index",
    "launches -snapshot=launches.json -all",
    "launches -snapshot=launches.json -json",
    "rebalance -snapshot=SNAPSHOT -free-nodes=dc1-general-01",
    "rebalance -snapshot=SNAPSHOT -json -free-nodes=dc1-general-01",
    "snapshot inspect SNAPSHOT",
    "snapshot inspect -json SNAPSHOT",
    "snapshot diff SNAPSHOT changed.json",
    "snapshot anonymize -out=anonymous.json SNAPSHOT",
    "system gc -dry-run -snapshot=SNAPSHOT",
    "system gc -dry-run -json -snapshot=SNAPSHOT",
    "gc explain -snapshot=SNAPSHOT api",
    "autoscale plan -snapshot=SNAPSHOT",
    "autoscale plan -snapshot=pools.json -json",
    "autoscale simulate -snapshot=pools.json -trace=day.csv",
];

/// The commands that read snapshots, by the names that their messages use.
fn readers() -> BTreeSet<&'static str> {
    let reads = |entry: &&encamp_cli::command::Entry| {
        entry.clap().get_arguments().any(|arg| arg.get_long() == Some("ignore-unknown-tables"))
    };
    let registry = Registry::new();
    // The web UI serves pages until it is interrupted: its times are those of the file (tests/server/web_ui).
    // `top` needs a terminal (tests/cli/terminal/top.rs), `lsp` an editor (tests/lsp), `mcp` a client (tests/cli/mcp.rs).
    let ends = |path: &&str| !matches!(*path, "ui" | "top" | "lsp" | "mcp");
    registry.entries().filter(reads).map(|entry| entry.meta.path).filter(ends).collect()
}

fn files() -> Folder {
    let folder = Folder::new("clocks");
    let demo = repository().join("fixtures/demo");
    for file in std::fs::read_dir(&demo).expect("the fixtures").flatten().filter(|f| f.path().is_file()) {
        std::fs::copy(file.path(), folder.path().join(file.file_name())).expect("a copy");
    }
    let pools = repository().join("fixtures/worker-pools");
    std::fs::copy(pools.join("cluster.json"), folder.path().join("pools.json")).expect("a copy");
    let launches = repository().join("fixtures/launches/cluster.json");
    std::fs::copy(launches, folder.path().join("launches.json")).expect("a copy");
    std::fs::copy(pools.join("day.csv"), folder.path().join("day.csv")).expect("a copy");
    folder.file(
        "periodic.hcl",
        "job \"nightly\" {\n  type = \"batch\"\n  datacenters = [\"*\"]\n  periodic {\n    crons = [\"15 3 * * *\"]\n  }\n  \
         group \"g\" {\n    task \"t\" {\n      driver = \"docker\"\n      config {\n        image = \"i:1\"\n      }\n    }\n  \
         }\n}\n",
    );
    let text = std::fs::read_to_string(demo.join("cluster.json")).expect("a snapshot");
    let mut content: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    content["Index"] = 9_999.into();
    folder.file("changed.json", content.to_string());
    // Of a snapshot that does not say when it was taken, the latest time in it counts.
    content.as_object_mut().expect("an object").remove("TakenAt");
    folder.file("timeless.json", content.to_string());
    folder
}

#[test]
fn two_clocks_give_the_same_bytes() {
    let folder = files();
    let library = shim(folder.path());
    let [early, late] = twice(folder.path(), &library, &["snapshot", "inspect", "cluster.json"]);
    assert_ne!(early.stdout, late.stdout, "the clock is replaced: the age of the file differs");
    let mut tried = BTreeSet::new();
    for line in LINES {
        for snapshot in ["cluster.json", "timeless.json"] {
            let line = line.replace("SNAPSHOT", snapshot);
            let args: Vec<&str> = line.split(' ').collect();
            let report = folder.path().join("report.html");
            let [early, late] = SECONDS.map(|second| {
                let env = [("LD_PRELOAD", library.to_str().expect("UTF-8")), ("CLOCK_SECOND", second)];
                let ran = run_with(folder.path(), &args, &env, None);
                (ran, std::fs::read_to_string(&report).unwrap_or_default())
            });
            assert!(early.0.exit < 2, "{line}: {:?}", early.0);
            assert_eq!(without_age(&early.0.stdout), without_age(&late.0.stdout), "{line}");
            assert_eq!((early.0.stderr, early.0.exit, early.1), (late.0.stderr, late.0.exit, late.1), "{line}");
        }
        let words: Vec<&str> = line.split(' ').take_while(|word| !word.starts_with('-')).collect();
        tried.extend([words[0].to_string(), words[..words.len().min(2)].join(" ")]);
    }
    let missing: Vec<&str> = readers().into_iter().filter(|command| !tried.contains(*command)).collect();
    assert!(missing.is_empty(), "no line for {missing:?}");
}

#[test]
fn the_time_can_be_chosen() {
    let folder = files();
    let at = |time: &str| {
        run_with(folder.path(), &["job", "plan", "-snapshot=cluster.json", time, "periodic.hcl"], &[], None)
    };
    // The snapshot was taken at 2026-03-02T12:00:00Z.
    let taken = at("-at=2026-03-02T12:00:00Z");
    assert!(taken.stdout.contains("2026-03-03T03:15:00Z (15h15m0s from now)"), "{taken:?}");
    let later = at("-at=2026-05-02T03:00:00Z");
    assert!(later.stdout.contains("2026-05-02T03:15:00Z (15m0s from now)"), "{later:?}");
    let plain = run_with(folder.path(), &["job", "plan", "-snapshot=cluster.json", "periodic.hcl"], &[], None);
    assert_eq!(plain.stdout, taken.stdout);
    let wrong = at("-at=tomorrow");
    assert!(
        wrong.stderr.starts_with("Invalid value \"tomorrow\" for -at: it has to be a time in RFC 3339"),
        "{wrong:?}"
    );
}

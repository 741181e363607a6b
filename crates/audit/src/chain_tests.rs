//! What `verify` finds in files that agents wrote and others changed.

use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};

use super::chain::{Damage, Head, head_of};
use super::tests::{Folder, event, log, sink};
use super::verify::{ProblemKind, Report, verify};
use super::{AuditLog, FileSettings, Guarantee};
use encamp_telemetry::Metrics;

/// Writes rows to a log that is opened and closed again.
async fn write(file: &FileSettings, rows: usize) {
    let log = log(vec![sink(Guarantee::Enforced, file.clone())], &Metrics::default());
    write_to(&log, rows).await;
}

async fn write_to(log: &AuditLog, rows: usize) {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    for _ in 0..rows {
        let n = NUMBER.fetch_add(1, Ordering::Relaxed);
        log.write(event(&format!("/v1/{n}"), None)).await.expect("written");
    }
    log.flush().await;
}

/// Checks the logs in a folder.
fn check(folder: &Folder) -> Report {
    let logs = folder.names().into_iter().filter(|name| name.ends_with(".log"));
    verify(&logs.map(|name| folder.0.join(name)).collect::<Vec<PathBuf>>()).expect("a report")
}

/// Name of the file, line and kind of each problem.
fn problems(report: &Report) -> Vec<(String, u64, ProblemKind)> {
    let name = |path: &PathBuf| path.file_name().expect("a name").to_string_lossy().into_owned();
    report.problems.iter().map(|p| (name(&p.file), p.line, p.kind.clone())).collect()
}

fn lines(folder: &Folder) -> Vec<String> {
    folder.read("audit.log").lines().map(String::from).collect()
}

fn put(folder: &Folder, lines: &[String]) {
    fs::write(folder.0.join("audit.log"), lines.iter().map(|l| format!("{l}\n")).collect::<String>()).expect("written");
}

/// The problems of a log of six rows whose lines were changed.
async fn after(change: impl FnOnce(&mut Vec<String>)) -> Vec<(u64, ProblemKind)> {
    let folder = Folder::new();
    write(&folder.file(), 6).await;
    let mut all = lines(&folder);
    change(&mut all);
    put(&folder, &all);
    problems(&check(&folder)).into_iter().map(|(_, line, kind)| (line, kind)).collect()
}

#[tokio::test]
async fn rows_are_numbered_over_restarts_and_rotations() {
    let folder = Folder::new();
    let settings = FileSettings { rotate_bytes: 1000, ..folder.file() };
    for _ in 0..3 {
        write(&settings, 4).await;
    }
    assert!(folder.names().len() > 4, "{:?}", folder.names());
    let report = check(&folder);
    let [chain] = report.chains.as_slice() else { panic!("{report:?}") };
    assert_eq!((chain.first, chain.last, chain.rows, report.unlinked), (1, 12, 12, 0));
    assert_eq!((chain.files.len() + 1, problems(&report)), (folder.names().len(), Vec::new()));
    let head = Head::read(&head_of(&settings.path)).expect("a head");
    assert_eq!((head.sequence, &head.id), (12, &chain.id));
    // Other members of the row stay as they were.
    let row: serde_json::Value = serde_json::from_str(&lines(&folder)[0]).expect("JSON");
    assert_eq!((&row["event_type"], &row["payload"]["version"]), (&"audit".into(), &1.into()));
}

#[tokio::test]
async fn every_change_of_rows_is_found() {
    use ProblemKind::{Changed, CutOff, Missing, NoRow, OutOfOrder, Repeated, Unlinked};
    assert!(after(|_| {}).await.is_empty());
    assert_eq!(after(|rows| drop(rows.remove(2))).await, [(3, Missing { first: 3, last: 3 })]);
    assert_eq!(after(|rows| drop(rows.drain(1..4))).await, [(2, Missing { first: 2, last: 4 })]);
    assert_eq!(after(|rows| rows.swap(2, 3)).await, [(4, OutOfOrder { sequence: 3 })]);
    assert_eq!(after(|rows| rows.truncate(4)).await, [(4, CutOff { first: 5, last: 6 })]);
    let change = |rows: &mut Vec<String>, n: usize| rows[n] = rows[n].replace("/v1/", "/v2/");
    assert_eq!(after(|rows| change(rows, 2)).await, [(3, Changed { sequence: 3 })]);
    assert_eq!(after(|rows| change(rows, 5)).await, [(6, Changed { sequence: 6 })], "the last one");
    assert_eq!(after(|rows| rows.insert(3, rows[2].clone())).await, [(4, Repeated { sequence: 3 })]);
    assert_eq!(after(|rows| rows.insert(3, "{}".into())).await, [(4, Unlinked)]);
    assert_eq!(after(|rows| rows.insert(3, "half a r".into())).await, [(4, NoRow)]);
    let cut = after(|rows| rows[3].truncate(100)).await;
    assert_eq!(cut, [(4, NoRow), (5, Missing { first: 4, last: 4 })]);
    // The first rows may have been removed by rotation.
    assert!(after(|rows| drop(rows.drain(..2))).await.is_empty());
}

#[tokio::test]
async fn a_file_that_was_removed_is_found() {
    let rotated = async || {
        let folder = Folder::new();
        write(&FileSettings { rotate_bytes: 1, ..folder.file() }, 4).await;
        let names: Vec<String> = folder.names().into_iter().filter(|n| n.ends_with(".log")).collect();
        assert_eq!((names.len(), names[3].as_str()), (4, "audit.log"));
        (folder, names)
    };
    let (folder, names) = rotated().await;
    fs::remove_file(folder.0.join(&names[1])).expect("removed");
    let missing = (names[2].clone(), 1, ProblemKind::Missing { first: 2, last: 2 });
    assert_eq!(problems(&check(&folder)), [missing]);
    // The current one.
    let (folder, names) = rotated().await;
    fs::remove_file(folder.0.join("audit.log")).expect("removed");
    let cut = (names[2].clone(), 1, ProblemKind::CutOff { first: 4, last: 4 });
    assert_eq!(problems(&check(&folder)), [cut]);
    // The agent continues where it was.
    write(&folder.file(), 2).await;
    let missing = ("audit.log".to_string(), 1, ProblemKind::Missing { first: 4, last: 4 });
    assert_eq!(problems(&check(&folder)), [missing]);
    // Rotated files alone say nothing about the end of the log.
    let report = verify(&[folder.0.join(&names[0]), folder.0.join(&names[1])]).expect("a report");
    assert_eq!((report.chains[0].last, problems(&report)), (2, Vec::new()));
}

#[tokio::test]
async fn a_cut_end_shows_before_and_after_a_restart() {
    let folder = Folder::new();
    write(&folder.file(), 5).await;
    let mut all = lines(&folder);
    all.truncate(3);
    put(&folder, &all);
    let (_, damage) = super::chain::Chain::open(&folder.file().path, 0o600).expect("a chain");
    assert_eq!(damage, [Damage::Cut { first: 4, last: 5 }]);
    write(&folder.file(), 1).await;
    let missing = ("audit.log".to_string(), 4, ProblemKind::Missing { first: 4, last: 5 });
    assert_eq!(problems(&check(&folder)), [missing]);
    // While the agent writes.
    let folder = Folder::new();
    let log = log(vec![sink(Guarantee::Enforced, folder.file())], &Metrics::default());
    write_to(&log, 5).await;
    let text = folder.read("audit.log");
    let length = text.len() - text.lines().last().expect("a row").len() - 1;
    let file = fs::OpenOptions::new().write(true).open(folder.file().path).expect("the file");
    file.set_len(length as u64).expect("cut");
    write_to(&log, 1).await;
    let missing = ("audit.log".to_string(), 5, ProblemKind::Missing { first: 5, last: 5 });
    assert_eq!(problems(&check(&folder)), [missing]);
}

#[tokio::test]
async fn a_torn_row_stays_and_is_reported() {
    let folder = Folder::new();
    write(&folder.file(), 3).await;
    let text = folder.read("audit.log");
    // Row 3 was being written when the machine lost its power, and its head was not stored.
    let before = Head::read(&head_of(&folder.file().path)).expect("a head");
    let cut = &text[..text.len() - 40];
    fs::write(folder.0.join("audit.log"), cut).expect("written");
    fs::remove_file(head_of(&folder.file().path)).expect("removed");
    let (chain, damage) = super::chain::Chain::open(&folder.file().path, 0o600).expect("a chain");
    assert_eq!((damage, chain.head.sequence, chain.head.id), (vec![Damage::Torn], 2, before.id));
    write(&folder.file(), 2).await;
    assert!(folder.read("audit.log").starts_with(&format!("{cut}\n")), "it was not written over");
    let report = check(&folder);
    assert_eq!(problems(&report), [("audit.log".to_string(), 3, ProblemKind::NoRow)]);
    assert_eq!((report.chains[0].last, report.chains[0].rows), (4, 4));
}

#[tokio::test]
async fn the_head_may_be_behind_the_file() {
    let folder = Folder::new();
    write(&folder.file(), 2).await;
    let head = head_of(&folder.file().path);
    let old = fs::read(&head).expect("a head");
    write(&folder.file(), 2).await;
    fs::write(&head, old).expect("written");
    assert!(check(&folder).problems.is_empty());
    write(&folder.file(), 1).await;
    assert_eq!((problems(&check(&folder)), check(&folder).chains[0].last), (Vec::new(), 5));
    // A damaged head counts as none.
    fs::write(&head, "{\"id\":").expect("written");
    write(&folder.file(), 1).await;
    assert_eq!((problems(&check(&folder)), check(&folder).chains[0].last), (Vec::new(), 6));
}

#[tokio::test]
async fn logs_of_two_agents_are_told_apart() {
    let (one, other) = (Folder::new(), Folder::new());
    write(&one.file(), 3).await;
    write(&other.file(), 5).await;
    let files = [one.file().path, other.file().path];
    let report = verify(&files).expect("a report");
    let mut amounts: Vec<_> = report.chains.iter().map(|c| (c.first, c.last, c.files.len())).collect();
    amounts.sort_unstable();
    assert_eq!((amounts, problems(&report)), (vec![(1, 3, 1), (1, 5, 1)], Vec::new()));
    // One file in place of the other: the agent continues its own log.
    fs::copy(&files[1], &files[0]).expect("copied");
    let (_, damage) = super::chain::Chain::open(&files[0], 0o600).expect("a chain");
    assert_eq!(damage, [Damage::Foreign]);
    write(&one.file(), 1).await;
    let report = check(&one);
    assert_eq!(report.chains.len(), 2);
    assert!(report.chains.iter().any(|c| (c.first, c.last) == (4, 4)), "{report:?}");
}

#[tokio::test]
async fn rows_of_earlier_builds_are_not_checked() {
    let folder = Folder::new();
    fs::write(folder.0.join("audit.log"), "{\"event_type\":\"audit\"}\n").expect("written");
    write(&folder.file(), 2).await;
    let report = check(&folder);
    assert_eq!((report.unlinked, report.chains[0].first, problems(&report)), (1, 1, Vec::new()));
    let first: serde_json::Value = serde_json::from_str(&lines(&folder)[1]).expect("JSON");
    assert_eq!(first["chain"]["previous"], super::chain::hash(b"{\"event_type\":\"audit\"}"));
}

#[tokio::test]
async fn rows_that_were_not_written_are_counted_in_the_next_one() {
    let folder = Folder::new();
    let path = folder.file().path;
    std::os::unix::fs::symlink("/dev/full", &path).expect("a link");
    let log = log(vec![sink(Guarantee::Enforced, folder.file())], &Metrics::default());
    for _ in 0..2 {
        log.write(event("/v1/x", None)).await.expect_err("no capacity");
    }
    fs::remove_file(&path).expect("removed");
    log.reopen();
    write_to(&log, 2).await;
    let report = check(&folder);
    assert_eq!(problems(&report), [("audit.log".to_string(), 1, ProblemKind::NotWritten { rows: 2 })]);
    assert_eq!((report.chains[0].first, report.chains[0].last), (1, 2));
}

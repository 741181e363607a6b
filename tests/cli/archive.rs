//! Planning against backups of servers, by starting the program.

use crate::oracle;
use std::io::{Read, Write};
use std::path::PathBuf;

use crate::program::{Folder, Ran, run_in};
use serde_json::Value;

/// A backup of a real cluster: `fleet` of 300 nodes, `dev-acl` of ten.
fn backup(name: &str) -> Option<PathBuf> {
    oracle::file(&format!("archive/{name}.snap"))
}

const JOB: &str = "\
job \"probe\" {
  datacenters = [\"dc1\"]
  group \"g\" {
    count = 3
    task \"t\" {
      driver = \"exec\"
      config {
        command = \"/bin/true\"
      }
      resources {
        cpu    = 100
        memory = 64
      }
    }
  }
}
";

const NOTE: &str = "The backup was taken at 2026-";

#[test]
fn a_plan_against_a_backup() {
    let Some(fleet) = backup("fleet") else { return };
    let folder = Folder::new("cli-archive");
    // The name does not say what it is.
    std::fs::copy(&fleet, folder.path().join("backup")).expect("a copy");
    folder.file("probe.hcl", JOB);
    let ran = run_in(folder.path(), &["job", "plan", "-snapshot", "backup", "probe.hcl"]);
    assert!(ran.stderr.starts_with(NOTE) && ran.stderr.contains("evaluated as of then"), "{}", ran.stderr);
    assert!(ran.stdout.contains("+ Job: \"probe\"") && ran.stdout.contains("(3 create)"), "{}", ran.stdout);
    assert!(ran.stdout.contains("- All tasks successfully allocated."), "{}", ran.stdout);
    assert_eq!(ran.exit, 1);
    let left: Vec<_> =
        std::fs::read_dir(folder.path()).expect("the folder").map(|e| e.expect("a name").file_name()).collect();
    assert_eq!(left.len(), 2, "nothing is left behind: {left:?}");
}

/// A job of the backup planned again as it is changes nothing.
#[test]
fn a_job_of_the_backup_planned_again() {
    let Some(backup) = backup("dev-acl") else { return };
    let folder = Folder::new("cli-archive-again");
    let backup = backup.to_str().expect("a name in UTF-8");
    let shown = run_in(folder.path(), &["job", "inspect", "-snapshot", backup, RUNNING]);
    assert_eq!((shown.stderr.as_str(), shown.exit), ("", 0));
    let job: Value = serde_json::from_str(&shown.stdout).expect("JSON");
    assert_eq!(job["Job"]["ID"], RUNNING);
    folder.file("job.json", &shown.stdout);
    let ran = run_in(folder.path(), &["job", "plan", "-json", "-snapshot", backup, "job.json"]);
    assert!(ran.stdout.contains(&format!("Job: \"{RUNNING}\"")), "{}{}", ran.stdout, ran.stderr);
    assert!(ran.stdout.contains("(2 ignore)"), "{}", ran.stdout);
    assert_eq!(ran.exit, 0, "{}", ran.stdout);
}

/// A job with two running allocations.
const RUNNING: &str = "movable";

#[test]
fn damaged_and_newer_backups_are_refused() {
    let Some(backup) = backup("dev-acl") else { return };
    let folder = Folder::new("cli-archive-bad");
    folder.file("probe.hcl", JOB);
    let whole = std::fs::read(&backup).expect("the backup");
    let plan = |name: &str, flags: &[&str]| {
        let args: Vec<&str> = ["plan", "-snapshot", name].iter().chain(flags).copied().chain(["probe.hcl"]).collect();
        run_in(folder.path(), &args)
    };
    folder.file("half.snap", &whole[..whole.len() / 2]);
    assert_eq!(run_in(folder.path(), &["job", "validate", "-snapshot", "half.snap", "probe.hcl"]).exit, 1);
    let half = plan("half.snap", &[]);
    assert_eq!((half.stdout.as_str(), half.exit), ("", 255));
    assert!(half.stderr.starts_with("Error reading snapshot: "), "{}", half.stderr);
    assert!(half.stderr.contains("is cut off after") && half.stderr.contains("get it again"), "{}", half.stderr);

    folder.file("newer.snap", with_a_record_of_type_63(&whole));
    let newer = plan("newer.snap", &[]);
    assert_eq!(newer.exit, 255);
    assert!(newer.stderr.contains("(type 63)") && newer.stderr.contains("-ignore-unknown-tables"), "{}", newer.stderr);
    let lenient = plan("newer.snap", &["-ignore-unknown-tables"]);
    assert_ne!(lenient.exit, 255, "{}", lenient.stderr);
    assert!(lenient.stderr.contains("1 of type 63"), "{}", lenient.stderr);
}

fn path(of: &std::path::Path) -> &str {
    of.to_str().expect("a name in UTF-8")
}

fn json(ran: &Ran) -> Value {
    serde_json::from_str(&ran.stdout).unwrap_or_else(|e| panic!("{e}: {ran:?}"))
}

/// What the servers answered over HTTP at the index of the backup.
fn expected(name: &str) -> Value {
    oracle::json(&format!("archive/{name}.expected.json")).expect("what is in the backup")
}

#[test]
fn backups_are_looked_into() {
    let folder = Folder::new("cli-archive-inspect");
    for name in ["empty", "dev-acl", "fleet", "legacy-1.4.3"] {
        let Some(backup) = backup(name) else { return };
        let ran = run_in(folder.path(), &["snapshot", "inspect", "-json", path(&backup)]);
        assert_eq!((ran.stderr.as_str(), ran.exit), ("", 0), "{name}");
        let (inspected, all) = (json(&ran), expected(name));
        // The last change of any table; entries of the log after it changed none.
        let last = all["Indexes"].as_object().expect("indexes").values().filter_map(Value::as_u64).max();
        assert_eq!(inspected["Index"].as_u64(), last, "{name}");
        assert_eq!(inspected["Source"], path(&backup), "{name}");
        assert!(inspected["Notes"][0].as_str().is_some_and(|n| n.starts_with(NOTE)), "{name}: {}", inspected["Notes"]);
        let tables = inspected["Tables"].as_array().expect("a list");
        let objects = |table: &str| tables.iter().find(|t| t["Name"] == table).expect("the table")["Objects"].clone();
        let count = |list: &str| all[list].as_array().map_or(0, Vec::len);
        for (table, want) in [
            ("Nodes", count("Nodes")),
            ("Allocations", count("Allocations")),
            ("Jobs", count("JobVersions")),
            ("Deployments", count("Deployments")),
            ("Namespaces", count("Namespaces")),
            ("Volumes", count("CSIVolumes") + count("HostVolumes")),
        ] {
            assert_eq!(objects(table), want, "{name}: {table}");
        }
        let running = |a: &&Value| a["ClientStatus"] == "running";
        let running = all["Allocations"].as_array().map_or(0, |list| list.iter().filter(running).count());
        assert_eq!(inspected["Total"]["Allocations"]["running"].as_u64().unwrap_or(0), running as u64, "{name}");
    }
    let Some(backup) = backup("dev-acl") else { return };
    let text = run_in(folder.path(), &["snapshot", "inspect", path(&backup)]);
    assert!(text.stderr.starts_with(&format!("Note: {NOTE}")), "{}", text.stderr);
    assert!(text.stdout.contains("\nTables\nTable "), "{}", text.stdout);
}

#[test]
fn a_backup_is_made_anonymous() {
    let Some(backup) = backup("dev-acl") else { return };
    let folder = Folder::new("cli-archive-anonymous");
    let anonymize = |flags: &[&str]| {
        let ran = run_in(folder.path(), &[&["snapshot", "anonymize", path(&backup)], flags].concat());
        assert_eq!((ran.stderr.as_str(), ran.exit), ("", 0), "{flags:?}");
    };
    anonymize(&["-out=anonymous.json"]);
    let text = std::fs::read_to_string(folder.path().join("anonymous.json")).expect("the file");
    let all = expected("dev-acl");
    let mut names: Vec<String> =
        ["kitchen-sink", "batch-fail", "movable", "nightly", "\"prod\"", "\"dev\""].map(String::from).into();
    for (list, member) in [("Nodes", "ID"), ("Nodes", "Name"), ("Allocations", "ID"), ("Deployments", "ID")] {
        let rows = all[list].as_array().expect("a list").iter();
        names.extend(rows.map(|o| o[member].as_str().expect("text").to_string()));
    }
    assert!(names.len() > 70, "{}", names.len());
    for name in names {
        assert!(!text.contains(&name), "{name} is left");
    }
    let totals = |file: &str| json(&run_in(folder.path(), &["snapshot", "inspect", "-json", file]))["Total"].clone();
    assert_eq!(totals("anonymous.json"), totals(path(&backup)));
    // Planning the jobs of the copy is planning those of the backup.
    anonymize(&["-keep-names=jobs", "-out=named.json.zst"]);
    let shown = run_in(folder.path(), &["job", "inspect", "-snapshot=named.json.zst", RUNNING]);
    folder.file("job.json", &shown.stdout);
    let ran = run_in(folder.path(), &["job", "plan", "-json", "-snapshot=named.json.zst", "job.json"]);
    assert!(ran.stdout.contains("(2 ignore)") && ran.exit == 0, "{}{}", ran.stdout, ran.stderr);
}

#[test]
fn backups_are_compared() {
    let Some(backup) = backup("dev-acl") else { return };
    let folder = Folder::new("cli-archive-diff");
    let diff = |old: &str, new: &str| run_in(folder.path(), &["snapshot", "diff", "-json", old, new]);
    let sample = |name: &str| backup.with_file_name(format!("{name}.snap"));
    // A backup without its secrets, and the same cluster as a snapshot file.
    let redacted = sample("dev-acl-redacted");
    let same = diff(path(&backup), path(&redacted));
    assert_eq!((same.stderr.as_str(), same.exit, &json(&same)["Equal"]), ("", 0, &true.into()), "{}", same.stdout);
    let kept = ["snapshot", "anonymize", "-keep-names=all", "-out=copy.json", path(&backup)];
    assert_eq!(run_in(folder.path(), &kept).exit, 0);
    let copy = json(&diff(path(&backup), "copy.json"));
    assert_eq!((&copy["Old"]["Capacity"], &copy["Old"]["Used"]), (&copy["New"]["Capacity"], &copy["New"]["Used"]));
    let removed = json(&diff("copy.json", path(&sample("empty"))));
    let count = |list: &str| removed[list].as_array().map_or(0, Vec::len);
    assert_eq!((count("Nodes"), count("Jobs")), (10, 25), "{removed}");
    let added = diff(path(&sample("empty")), path(&backup));
    assert_eq!((added.stderr.as_str(), added.exit), ("", 1));
    let nodes = json(&added)["Nodes"].clone();
    assert!(nodes.as_array().is_some_and(|n| n.len() == 10 && n.iter().all(|n| n["Change"] == "Added")), "{nodes}");
}

/// All commands that read snapshots reject damaged files, and unknown tables unless -ignore-unknown-tables is given.
#[test]
fn damaged_and_newer_backups_are_refused_everywhere() {
    let Some(backup) = backup("dev-acl") else { return };
    let folder = Folder::new("cli-archive-bad-snapshots");
    let whole = std::fs::read(&backup).expect("the backup");
    folder.file("half.snap", &whole[..whole.len() / 2]);
    folder.file("newer.snap", with_a_record_of_type_63(&whole));
    for (args, failed) in [(&["inspect"][..], 1), (&["anonymize", "-out=out.json"], 1), (&["diff", path(&backup)], 255)]
    {
        let run = |flags: &[&str], file: &str| {
            let (command, rest) = args.split_first().expect("a command");
            run_in(folder.path(), &[&["snapshot", command], flags, rest, &[file]].concat())
        };
        let half = run(&[], "half.snap");
        assert_eq!((half.stdout.as_str(), half.exit), ("", failed), "{args:?}");
        assert!(
            half.stderr.starts_with("Error reading snapshot: ") && half.stderr.contains("is cut off after"),
            "{half:?}"
        );
        let newer = run(&[], "newer.snap");
        assert_eq!((newer.stdout.as_str(), newer.exit), ("", failed), "{args:?}");
        assert!(newer.stderr.contains("-ignore-unknown-tables"), "{newer:?}");
        assert!(!folder.path().join("out.json").exists(), "nothing is written");
        let lenient = run(&["-ignore-unknown-tables"], "newer.snap");
        assert!(lenient.exit == 0 && !lenient.stdout.is_empty(), "{lenient:?}");
        let _ = std::fs::remove_file(folder.path().join("out.json"));
    }
}

/// The backup with one more record, and all sums right.
fn with_a_record_of_type_63(snap: &[u8]) -> Vec<u8> {
    use sha2::{Digest, Sha256};
    let mut tar = Vec::new();
    flate2::read::GzDecoder::new(snap).read_to_end(&mut tar).expect("gzip");
    let size = |header: &[u8]| {
        let digits = std::str::from_utf8(&header[124..135]).expect("digits");
        usize::from_str_radix(digits.trim_matches(['\0', ' ']), 8).expect("a size")
    };
    let meta_size = size(&tar);
    let state_header = 512 + meta_size.next_multiple_of(512);
    let state_size = size(&tar[state_header..]);
    let state_start = state_header + 512;
    let mut state = tar[state_start..state_start + state_size].to_vec();
    state.extend([63, 0x80]);
    let mut meta: Value = serde_json::from_slice(&tar[512..512 + meta_size]).expect("meta.json");
    meta["Size"] = state.len().into();
    let meta = serde_json::to_vec(&meta).expect("JSON");
    let hex = |bytes: &[u8]| Sha256::digest(bytes).iter().map(|b| format!("{b:02x}")).collect::<String>();
    let sums = format!("{}  meta.json\n{}  state.bin\n", hex(&meta), hex(&state));
    let mut out = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    for (name, content) in [("meta.json", &meta[..]), ("state.bin", &state), ("SHA256SUMS", sums.as_bytes())] {
        let mut header = [0_u8; 512];
        header[..name.len()].copy_from_slice(name.as_bytes());
        header[124..135].copy_from_slice(format!("{:011o}", content.len()).as_bytes());
        header[148..156].fill(b' ');
        header[156] = b'0';
        header[257..263].copy_from_slice(b"ustar\0");
        let sum: u32 = header.iter().map(|b| u32::from(*b)).sum();
        header[148..155].copy_from_slice(format!("{sum:06o}\0").as_bytes());
        out.write_all(&header).expect("a vector takes everything");
        out.write_all(content).expect("a vector takes everything");
        out.write_all(&vec![0; content.len().next_multiple_of(512) - content.len()])
            .expect("a vector takes everything");
    }
    out.write_all(&[0; 1024]).expect("a vector takes everything");
    out.finish().expect("a vector takes everything")
}

#[test]
fn the_content_of_a_backup() {
    let Some(backup) = backup("dev-acl") else { return };
    let backup = path(&backup);
    let shown = run_in(".".as_ref(), &["operator", "snapshot", "inspect", "-json", backup]);
    assert_eq!((shown.stderr.as_str(), shown.exit), ("", 0));
    let shown = json(&shown);
    assert!(shown["Meta"]["Peers"].as_str().is_some_and(|p| !p.is_empty()), "{shown}");
    let stats = shown["Stats"].as_array().expect("types");
    let sum: u64 = stats.iter().filter_map(|s| s["Sum"].as_u64()).sum();
    assert!(sum > 0 && Some(sum) <= shown["Meta"]["Size"].as_u64(), "{shown}");
    let count = |name: &str| stats.iter().find(|s| s["Name"] == name).map_or(0, |s| s["Count"].as_u64().unwrap_or(0));

    let text = run_in(".".as_ref(), &["operator", "snapshot", "inspect", backup]).stdout;
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[0].starts_with("Created = 2026-") && lines[0].ends_with('Z'), "{text}");
    assert_eq!(lines[1], format!("ID      = {}", shown["Meta"]["ID"].as_str().expect("an ID")));
    assert!(lines[6].is_empty() && lines[7].starts_with("Type ") && lines[7].ends_with("Count  Size"), "{text}");
    let [.., blank, total] = lines.as_slice() else { panic!("{text}") };
    let all: u64 = stats.iter().filter_map(|s| s["Count"].as_u64()).sum();
    assert!(blank.trim().is_empty() && !blank.is_empty(), "{text}");
    assert_eq!(total.split_whitespace().take(2).collect::<Vec<_>>(), ["Total", &all.to_string()]);

    let state = json(&run_in(".".as_ref(), &["operator", "snapshot", "state", backup]));
    for (table, kind) in [("Nodes", "Node"), ("Jobs", "Job"), ("Allocs", "Alloc"), ("ACLTokens", "ACLToken")] {
        let rows = state[table].as_array().map_or(0, Vec::len);
        assert!(rows > 0 && rows as u64 == count(kind), "{table}: {rows} rows of {}", count(kind));
    }
    assert!(state["ACLTokens"][0]["SecretID"].as_str().is_some_and(|s| s.len() == 36), "the dump is complete");

    let folder = Folder::new("cli-archive-content");
    let missing = run_in(folder.path(), &["operator", "snapshot", "inspect", "none.snap"]);
    let error = "Error opening snapshot file: open none.snap: no such file or directory\n";
    assert_eq!((missing.stdout.as_str(), missing.stderr.as_str(), missing.exit), ("", error, 1));
    folder.file("text.snap", "no archive");
    let refused = run_in(folder.path(), &["operator", "snapshot", "state", "text.snap"]);
    assert!(refused.exit == 1 && refused.stderr.starts_with("Error reading snapshot file: "), "{refused:?}");
}

#[test]
fn a_redacted_backup_of_nomad_has_no_secrets() {
    let Some(backup) = backup("dev-acl") else { return };
    let folder = Folder::new("cli-archive-redact");
    std::fs::copy(&backup, folder.path().join("backup.snap")).expect("a copy");
    let redact = || run_in(folder.path(), &["operator", "snapshot", "redact", "backup.snap"]);
    let state = |file: &str| json(&run_in(folder.path(), &["operator", "snapshot", "state", file]));
    let shown = |file: &str| json(&run_in(folder.path(), &["operator", "snapshot", "inspect", "-json", file]));
    let ran = redact();
    assert_eq!((ran.stdout.as_str(), ran.stderr.as_str(), ran.exit), ("Snapshot redacted\n", "", 0));

    let original = path(&backup);
    let (mut before, mut after) = (state(original), state("backup.snap"));
    let members = |list: &Value, member: &str| {
        let rows = list.as_array().expect("rows").iter();
        rows.filter_map(|row| row[member].as_str().filter(|s| !s.is_empty()).map(String::from)).collect::<Vec<_>>()
    };
    let text = after.to_string();
    for table in ["Nodes", "ACLTokens"] {
        let (old, new) = (members(&before[table], "SecretID"), members(&after[table], "SecretID"));
        assert!(!old.is_empty() && old.len() == new.len(), "{table}");
        assert!(old.iter().all(|secret| !text.contains(secret)), "{table}");
        assert_eq!(new.iter().collect::<std::collections::BTreeSet<_>>().len(), new.len(), "{table}: each another one");
    }
    for data in members(&before["Variables"], "Data") {
        assert!(!text.contains(&data), "the content of a variable");
    }
    let keys = members(&after["RootKeyMeta"], "KeyID");
    assert!(!keys.is_empty() && keys.iter().all(|id| id.ends_with(" [REDACTED]")), "{keys:?}");
    let digest = |v: &Value| (v["Meta"]["ID"].clone(), v["Meta"]["Index"].clone(), v["Stats"].as_array().map(Vec::len));
    assert_eq!(digest(&shown("backup.snap")), digest(&shown(original)));

    // All else is as it was.
    for state in [&mut before, &mut after] {
        for (table, secrets) in [
            ("Nodes", &["SecretID"][..]),
            ("ACLTokens", &["SecretID"]),
            ("Variables", &["Data", "Lock"]),
            ("RootKeyMeta", &["KeyID"]),
            ("JobSubmissions", &["VariableFlags", "Variables"]),
            ("Evals", &["LeaderACL"]),
            ("Allocs", &["SignedIdentities"]),
            ("ACLAuthMethods", &["Config"]),
            ("CSIVolumes", &["Secrets", "MountOptions", "ReadAllocs", "WriteAllocs"]),
        ] {
            for row in state[table].as_array_mut().into_iter().flatten().filter_map(Value::as_object_mut) {
                secrets.iter().for_each(|secret| drop(row.remove(*secret)));
            }
        }
    }
    assert!(before == after, "something else than secrets differs");

    // Plans read it as they read the whole one.
    folder.file("probe.hcl", JOB);
    let plan = run_in(folder.path(), &["job", "plan", "-snapshot", "backup.snap", "probe.hcl"]);
    assert!(plan.stdout.contains("- All tasks successfully allocated."), "{plan:?}");

    let unknown = with_a_record_of_type_63(&std::fs::read(&backup).expect("the backup"));
    folder.file("backup.snap", &unknown);
    let refused = redact();
    assert!(refused.exit == 1 && refused.stderr.contains("may hold secrets"), "{refused:?}");
    assert_eq!(std::fs::read(folder.path().join("backup.snap")).expect("the file"), unknown, "it stays");
}

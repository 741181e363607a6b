//! What the servers of a cluster are set up with decides about jobs: it is read from running clusters, kept in snapshot
//! files, and assumed where nothing says it.

use serde_json::{Value, json};

use crate::agent::Agent;
use crate::answers::root;
use crate::program::{Folder, run_in, run_with};

const VAULT_JOB: &str = "job \"secretive\" {\n  group \"g\" {\n    task \"t\" {\n      driver = \"raw_exec\"\n      config {\n        \
                         command = \"true\"\n      }\n      vault {\n        role = \"r\"\n      }\n    }\n  }\n}\n";
const REFUSAL: &str = "Vault \"default\" not enabled but used in the job";
const ASSUMED: &str = "The servers' settings are not known: Vault is assumed to be enabled";

/// The demo cluster with another version and other settings.
fn demo(folder: &Folder, name: &str, version: u64, settings: Option<Value>) {
    let text = std::fs::read_to_string(root().join("fixtures/demo/cluster.json")).unwrap();
    let mut file: Value = serde_json::from_str(&text).unwrap();
    let members = file.as_object_mut().unwrap();
    members.insert("Version".into(), version.into());
    members.remove("ServerSettings");
    members.extend(settings.map(|s| ("ServerSettings".to_string(), s)));
    folder.file(name, file.to_string());
}

#[test]
fn snapshot_files_say_whether_vault_is_enabled_and_old_ones_what_is_assumed() {
    let folder = Folder::new("settings-files");
    folder.file("vault.nomad.hcl", VAULT_JOB);
    demo(&folder, "old.json", 1, None);
    demo(&folder, "off.json", 2, Some(json!({})));
    demo(&folder, "on.json", 2, Some(json!({"VaultEnabled": true})));
    let plan = |file: &str| run_in(folder.path(), &["job", "plan", "-snapshot", file, "vault.nomad.hcl"]);
    let off = plan("off.json");
    assert!(off.stderr.contains(REFUSAL) && off.exit == 255, "{off:?}");
    let on = plan("on.json");
    assert_eq!((on.stderr.as_str(), on.exit), ("", 1));
    let old = plan("old.json");
    assert!(old.stderr.starts_with(ASSUMED) && old.exit == 1, "{old:?}");
    for command in [&["capacity"][..], &["job", "plan", "-json-output", "vault.nomad.hcl"]] {
        let ran = run_in(folder.path(), &[command, &["-snapshot", "old.json", "vault.nomad.hcl"]].concat());
        assert!(command.len() > 1 || ran.stderr.starts_with(ASSUMED), "{ran:?}");
    }
    // Copies without names keep the settings.
    let copied = run_in(folder.path(), &["snapshot", "anonymize", "off.json", "-out", "copy.json"]);
    assert_eq!(copied.exit, 0, "{}", copied.stderr);
    let copy: Value = serde_json::from_str(&std::fs::read_to_string(folder.path().join("copy.json")).unwrap()).unwrap();
    assert_eq!(copy["ServerSettings"], json!({}));
    // Later versions are refused.
    demo(&folder, "later.json", 3, None);
    let later = plan("later.json");
    assert!(later.stderr.contains("Version is 3, but this program reads versions 1 to 2"), "{}", later.stderr);
}

#[test]
fn identities_of_the_settings_are_given_to_tasks() {
    let folder = Folder::new("settings-identities");
    folder.file("vault.nomad.hcl", VAULT_JOB);
    let identity = json!({"Audience": ["vault.example"], "TTL": 3_600_000_000_000_i64});
    demo(&folder, "on.json", 2, Some(json!({"VaultEnabled": true, "VaultDefaultIdentity": identity})));
    let ran = run_in(folder.path(), &["job", "plan", "-verbose", "-snapshot", "on.json", "vault.nomad.hcl"]);
    assert!(ran.stdout.contains("vault.example"), "{}{}", ran.stdout, ran.stderr);
}

/// The servers of this program have no Vault: plans say so, and so do snapshots of them.
#[test]
fn plans_on_a_running_cluster_refuse_what_its_servers_refuse() {
    let folder = Folder::new("settings-live");
    folder.file("vault.nomad.hcl", VAULT_JOB);
    let agent = Agent::start(&folder, "", &["-dev"]);
    let address = agent.address();
    let cache = folder.path().join("cache").display().to_string();
    let env = [("NOMAD_ADDR", address.as_str()), ("ENCAMP_CACHE_DIR", cache.as_str())];
    let run = |args: &[&str]| run_with(folder.path(), args, &env, None);
    let planned = run(&["job", "plan", "vault.nomad.hcl"]);
    assert!(planned.stderr.contains(REFUSAL) && planned.exit == 255, "{planned:?}");
    let registered = run(&["job", "run", "-detach", "vault.nomad.hcl"]);
    assert!(registered.stderr.contains(REFUSAL) && registered.exit == 1, "{registered:?}");
    let fetched = run(&["snapshot", "fetch", "-out", "c.json"]);
    assert_eq!(fetched.exit, 0, "{}", fetched.stderr);
    let file: Value = serde_json::from_str(&std::fs::read_to_string(folder.path().join("c.json")).unwrap()).unwrap();
    assert_eq!((&file["Version"], &file["ServerSettings"]), (&json!(2), &json!({})));
    let offline = run(&["job", "plan", "-snapshot", "c.json", "vault.nomad.hcl"]);
    assert!(offline.stderr.contains(REFUSAL) && !offline.stderr.contains(ASSUMED), "{offline:?}");
}

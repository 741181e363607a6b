//! The chapter on CSI volumes of `docs/guide/volumes.md`: its files and commands, in their order, in a cluster.

use std::path::Path;

use super::agent::wait_for;
use super::csi_plugin;
use super::csi_support::{Cluster, PATIENT};
use super::program::Folder;

/// What the chapter calls the program of the plugin, its storage, and the data directory of agents.
const PLUGIN: &str = "/opt/disks/csi-plugin";
const STORAGE: &str = "/srv/";
const DATA: &str = "/var/lib/encamp/";

#[test]
#[ignore = "takes long: `cargo xtask test all` runs it"]
fn the_files_and_commands_of_the_guide_work() {
    let Some(cluster) = Cluster::start(1, 2, PATIENT) else { return };
    let (folder, storage) = (Folder::new("csi-guide"), Folder::new("csi-guide-storage"));
    let run = |args: &[&str]| {
        let mut said = String::new();
        wait_for(&format!("{args:?} succeeds"), || {
            let ran = cluster.run(&folder, args);
            said.clone_from(&ran.stdout);
            if ran.exit == 0 { Ok(()) } else { Err(format!("{}{}", ran.stdout, ran.stderr)) }
        });
        said
    };
    // A pattern of the shell for the directories of both agents, one of which has the volume.
    let (before, number) = (std::env::temp_dir().join("encamp-csi-"), std::process::id());
    let data = format!("{}[01]-{number}-*/data/", before.display());
    let chapter = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/guide/volumes.md"));
    let chapter = chapter.expect("the guide");
    let (_, chapter) = chapter.split_once("\n## CSI volumes\n").expect("the chapter");
    let (mut files, mut commands) = (0, 0);
    for block in chapter.split("```").skip(1).step_by(2) {
        if let Some(text) = block.strip_prefix("hcl\n# ") {
            let (name, text) = text.split_once('\n').expect("the name of the file");
            let text = text.replace(PLUGIN, &csi_plugin::path().display().to_string()).replace(DATA, &data);
            folder.file(name, text.replace(STORAGE, &format!("{}/", storage.path().display())));
            files += 1;
        }
        for line in block.strip_prefix("sh\n").into_iter().flat_map(str::lines) {
            let command = line.strip_prefix("encamp ").expect("a command of encamp").split("  #").next();
            run(&command.unwrap_or_default().split_whitespace().collect::<Vec<_>>());
            commands += 1;
        }
    }
    assert!(files >= 5 && commands >= 9, "{files} files, {commands} commands");
    let user = cluster.users("database", "database", 1, "").remove(0);
    let started = || std::fs::read_to_string(cluster.mounted(&user.0).join("started")).unwrap_or_default();
    assert_eq!(started().lines().count(), 1, "{}", started());

    // What the text names besides.
    let listed = run(&["volume", "snapshot", "list", "-plugin", "disks", "-verbose"]);
    let snapshot = listed.split_whitespace().find(|word| word.starts_with("snap-")).expect("the snapshot");
    run(&["volume", "snapshot", "delete", "disks", snapshot]);
    run(&["node", "drain", "-enable", "-ignore-system", "-yes", &user.1]);
    let moved = cluster.users("database", "database", 1, &user.1).remove(0);
    let started = std::fs::read_to_string(cluster.mounted(&moved.0).join("started")).expect("a file of the volume");
    assert_eq!(started.lines().count(), 2, "{started}");
    run(&["volume", "detach", "database", &user.1]);
    run(&["job", "stop", "-detach", "database"]);
    cluster.unclaimed("database");
    run(&["volume", "delete", "database"]);
    cluster.nothing_left();
}

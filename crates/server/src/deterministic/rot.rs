//! Damage of files: a bit, a block, two blocks that are swapped, a file that is cut off, an older copy of it, the content of
//! another file. It happens while a server is down, to a minority of the servers at a time.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::cluster::Cluster;
use super::network::Place;
use super::users::Stop;
use encamp_model::random::Random;

/// How long a repair may take.
const REPAIR: Duration = Duration::from_secs(60);
/// A block of a disk.
const BLOCK: usize = 512;

/// The files of servers as they were.
type Copies = BTreeMap<(Place, PathBuf), Vec<u8>>;

/// Damages files until asked to stop; afterwards all servers are running.
pub(super) async fn happen(cluster: Arc<Cluster>, stop: Stop) {
    let mut random = cluster.chance("rot");
    let mut copies = Copies::new();
    while !stop.now() {
        tokio::time::sleep(Duration::from_millis(500 + random.below(4000))).await;
        // A minority of the servers, at the same time.
        let most = (cluster.size() as u64).saturating_sub(1) / 2;
        let count = 1 + random.below(most.max(1));
        // Logs of the first level are not repaired.
        let repairs = |at: &Place| cluster.rotten_disk(*at).contents().contains_key(Path::new("raft/synced"));
        let running: Vec<Place> = cluster.servers().into_iter().map(|(at, _)| at).collect();
        if !running.iter().all(repairs) {
            continue;
        }
        let mut victims: Vec<Place> = (0..count).filter_map(|_| random.pick(&running).copied()).collect();
        victims.sort_unstable();
        victims.dedup();
        for at in &victims {
            damage_server(&cluster, *at, &mut copies, &mut random).await;
        }
        cluster.sim.watch.count("rounds of damage", 1);
        let repaired = tokio::time::timeout(REPAIR, repaired(&cluster, &victims)).await.is_ok();
        cluster.sim.watch.count("rounds repaired", u64::from(repaired));
        cluster.sim.note(format_args!("repaired: {repaired}"));
        if !repaired {
            // Another damage would be one of a majority.
            break;
        }
    }
    while !stop.now() {
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    cluster.sim.note(format_args!("no more faults"));
}

/// Waits until these servers take part in elections again.
async fn repaired(cluster: &Cluster, victims: &[Place]) {
    let doubts = || {
        cluster.servers().into_iter().any(|(at, s)| victims.contains(&at) && s.consensus().storage_health().in_doubt)
    };
    while doubts() || cluster.leader().is_none() {
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// Ends a server, damages one or two of its files and starts it again.
async fn damage_server(cluster: &Arc<Cluster>, at: Place, copies: &mut Copies, random: &mut Random) {
    if random.below(2) == 0 {
        cluster.halt(at).await
    } else {
        cluster.kill(at)
    }
    tokio::time::sleep(Duration::from_millis(random.below(1500))).await;
    let disk = cluster.rotten_disk(at);
    let contents = disk.contents();
    let mut visible = 0;
    let mut done: Vec<PathBuf> = Vec::new();
    let count = 1 + random.below(5) / 4;
    for _ in 0..count {
        let candidates: Vec<&PathBuf> =
            contents.keys().filter(|p| matters(p, &contents) && !done.contains(p)).collect();
        let Some(path) = random.pick(&candidates).map(|p| (*p).clone()) else { continue };
        let Some((what, bytes)) = changed(at, &path, &contents, copies, random) else { continue };
        let old = what == "files replaced by an older copy" && !path.to_string_lossy().ends_with(".seg");
        // An older record, and the end of the log cut off: no other file tells of the loss.
        if old && count > 1 {
            continue;
        }
        cluster.sim.note(format_args!("server {at}: {what}: {}", path.display()));
        cluster.sim.watch.count(what, 1);
        cluster.sim.watch.count("files damaged", 1);
        // An older copy of a record or of a vote, of which there is a newer copy, does no harm.
        visible += u64::from(!old);
        disk.rot(&path, bytes);
        done.push(path);
    }
    copies.extend(contents.into_iter().map(|(path, bytes)| ((at, path), bytes)));
    cluster.start(at).await;
    let Some((_, server)) = cluster.servers().into_iter().find(|(place, _)| *place == at) else { return };
    let health = server.consensus().storage_health();
    cluster.sim.note(format_args!("server {at}: {health:?}"));
    if visible > 0 && health.damages.is_empty() {
        cluster.sim.broken(&format!("server {at} does not report the damage of its files"));
    }
    cluster.sim.watch.count("damage reported", health.damages.len() as u64);
    cluster.sim.watch.count("servers in doubt", u64::from(health.in_doubt));
}

/// Whether a server reads a file when it starts. Of two snapshots it reads the newer one.
fn matters(path: &Path, contents: &BTreeMap<PathBuf, Vec<u8>>) -> bool {
    let text = path.to_string_lossy();
    let gone =
        ["/lock", ".new"].iter().any(|e| text.ends_with(e)) || text.contains(".damaged-") || text.contains("tmp-");
    let newer =
        |p: &PathBuf| p.as_path() > path && p.parent() == path.parent() && p.to_string_lossy().ends_with(".snap");
    let older = text.ends_with(".snap") && contents.keys().any(newer);
    text.contains("raft/") && !gone && !older && contents.get(path).is_some_and(|c| !c.is_empty())
}

/// Other bytes for a file; `None` if they are the same.
fn changed(
    at: Place,
    path: &Path,
    contents: &BTreeMap<PathBuf, Vec<u8>>,
    copies: &Copies,
    random: &mut Random,
) -> Option<(&'static str, Vec<u8>)> {
    let whole = contents.get(path)?;
    let mut bytes = whole.clone();
    let length = bytes.len() as u64;
    let place = random.below(length) as usize;
    let what = match random.below(6) {
        0 => {
            bytes[place] ^= 1 << random.below(8);
            "bits changed"
        }
        1 => {
            let start = place / BLOCK * BLOCK;
            let end = (start + BLOCK).min(bytes.len());
            let with = if random.below(2) == 0 { 0 } else { random.below(256) as u8 };
            bytes[start..end].fill(with);
            "blocks overwritten"
        }
        2 => {
            let other = random.below(length) as usize;
            let len = BLOCK.min(bytes.len() - place.max(other));
            let (a, b) = (whole[place..place + len].to_vec(), whole[other..other + len].to_vec());
            bytes[place..place + len].copy_from_slice(&b);
            bytes[other..other + len].copy_from_slice(&a);
            "blocks swapped"
        }
        3 => {
            bytes.truncate(place);
            "files cut off"
        }
        4 => {
            bytes.clone_from(copies.get(&(at, path.to_path_buf()))?);
            "files replaced by an older copy"
        }
        _ => {
            let others: Vec<&PathBuf> = contents.keys().filter(|p| p.parent() == path.parent() && *p != path).collect();
            bytes.clone_from(contents.get(*random.pick(&others)?)?);
            "files replaced by another"
        }
    };
    (bytes != *whole).then_some((what, bytes))
}

//! Snapshot files: intact, damaged, old.

use std::fs;
use std::io::{self, Read, Write};

use openraft::{CommittedLeaderId, LogId, SnapshotMeta, StoredMembership};

use super::support::TempDir;
use crate::arrival::Arrival;
use crate::snapshots::{Description, Snapshots, state};
use crate::{SnapshotWriter, StoreError};
use encamp_model::capability::CapabilityLevel;

struct Text(&'static str);

impl SnapshotWriter for Text {
    fn level(&self) -> CapabilityLevel {
        CapabilityLevel::FIRST
    }

    fn write(self: Box<Self>, to: &mut dyn Write) -> io::Result<()> {
        to.write_all(self.0.as_bytes())
    }
}

struct Fails;

impl SnapshotWriter for Fails {
    fn level(&self) -> CapabilityLevel {
        CapabilityLevel::FIRST
    }

    fn write(self: Box<Self>, to: &mut dyn Write) -> io::Result<()> {
        to.write_all(b"some of it")?;
        Err(io::ErrorKind::StorageFull.into())
    }
}

fn upto(index: u64) -> Description {
    let last_log_id = Some(LogId::new(CommittedLeaderId::new(2, 7.into()), index));
    let last_membership = StoredMembership::default();
    let meta = SnapshotMeta { last_log_id, last_membership, snapshot_id: index.to_string() };
    Description { meta, index: index * 3, membership_index: 1 }
}

fn newest(snapshots: &Snapshots) -> Option<(u64, String)> {
    let found = snapshots.newest().expect("readable")?;
    let mut text = String::new();
    state(&found.path).expect("opens").read_to_string(&mut text).expect("text");
    Some((found.description.index, text))
}

#[test]
fn the_two_newest_are_kept_and_a_damaged_one_is_passed_over() {
    let dir = TempDir::new();
    let snapshots = Snapshots::open(dir.path(), CapabilityLevel::BUILD).expect("opens");
    assert_eq!(newest(&snapshots), None);
    for (index, text) in [(5, "five"), (9, "nine"), (100, "hundred")] {
        snapshots.write(&upto(index), Box::new(Text(text))).expect("written");
    }
    assert_eq!(fs::read_dir(dir.path()).expect("listed").count(), 2);
    assert_eq!(newest(&snapshots), Some((300, "hundred".into())));
    let path = snapshots.newest().expect("readable").expect("one").path;
    let whole = fs::read(&path).expect("readable");
    for at in 0..whole.len() {
        let mut changed = whole.clone();
        changed[at] ^= 0x55;
        fs::write(&path, &changed).expect("written");
        assert_eq!(newest(&snapshots), Some((27, "nine".into())), "byte {at}");
        fs::write(&path, &whole[..at]).expect("written");
        assert_eq!(newest(&snapshots), Some((27, "nine".into())), "{at} bytes");
    }
    fs::write(&path, &whole).expect("written");
    assert_eq!(newest(&snapshots), Some((300, "hundred".into())));
}

#[test]
fn a_snapshot_is_checked_while_it_arrives() {
    let dir = TempDir::new();
    let snapshots = Snapshots::open(dir.path(), CapabilityLevel::BUILD).expect("opens");
    let whole = fs::read(snapshots.write(&upto(5), Box::new(Text("five"))).expect("written")).expect("readable");
    let is_intact = |bytes: &[u8], piece: usize| {
        let mut content = Arrival::default();
        bytes.chunks(piece).for_each(|c| content.take(c));
        content.is_intact()
    };
    for piece in [1, 7, 30, whole.len()] {
        assert!(is_intact(&whole, piece), "{piece}");
    }
    for at in 0..whole.len() {
        let mut changed = whole.clone();
        changed[at] ^= 0x55;
        assert!(!is_intact(&changed, 16), "byte {at}");
        assert!(!is_intact(&whole[..at], 16), "{at} bytes");
    }
    assert!(!is_intact(&[&whole[..], &[0]].concat(), 16), "too long");
}

#[test]
fn a_snapshot_that_fails_leaves_nothing() {
    let dir = TempDir::new();
    let snapshots = Snapshots::open(dir.path(), CapabilityLevel::BUILD).expect("opens");
    snapshots.write(&upto(5), Box::new(Text("five"))).expect("written");
    let error = snapshots.write(&upto(6), Box::new(Fails)).expect_err("fails").to_string();
    assert!(error.contains("free some space"), "{error}");
    assert_eq!(fs::read_dir(dir.path()).expect("listed").count(), 1);
    assert_eq!(newest(&snapshots), Some((15, "five".into())));
}

#[tokio::test]
async fn a_received_snapshot_is_checked() {
    use tokio::io::AsyncWriteExt;
    let (here, there) = (TempDir::new(), TempDir::new());
    let (from, to) = (
        Snapshots::open(there.path(), CapabilityLevel::BUILD).expect("opens"),
        Snapshots::open(here.path(), CapabilityLevel::BUILD).expect("opens"),
    );
    let path = from.write(&upto(5), Box::new(Text("five"))).expect("written");
    let bytes = fs::read(path).expect("readable");
    for (sent, meta, good) in [
        (&bytes[..], upto(5).meta, true),
        (&bytes[..bytes.len() - 1], upto(5).meta, false),
        (&bytes[..], upto(6).meta, false),
    ] {
        let mut file = to.receive().expect("a file");
        file.write_all(sent).await.expect("written");
        file.flush().await.expect("flushed");
        let installed = to.install(&file, &meta);
        assert!(matches!((good, installed), (true, Ok(_)) | (false, Err(StoreError::Damaged { .. }))));
        drop(file);
        assert_eq!(newest(&to), Some((15, "five".into())));
        assert_eq!(fs::read_dir(here.path()).expect("listed").count(), 1);
    }
}

use std::collections::BTreeSet;
use std::fs::Permissions;
use std::io::{Cursor, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use futures_util::StreamExt;
use tar::{EntryType, Header};

use super::pack::pack;
use super::pipe::{Piece, Receiver, Sender};
use super::unpack::{Wanted, unpack};
use super::*;
use crate::alloc_dir::AllocDir;
use crate::directory::{Directory, Links};
use crate::testing::{TempDir, tar_member};

const OLD: &str = "0aaaaaaa-0000-4000-8000-000000000001";

fn tasks(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(ToString::to_string).collect()
}

fn wanted(names: &[&str]) -> Wanted {
    Wanted::of(OLD, tasks(names), 1)
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

fn mode(path: &Path) -> u32 {
    path.symlink_metadata().unwrap().permissions().mode() & 0o7777
}

/// The directories of allocations, with that of a previous one.
struct Place {
    dir: TempDir,
}

impl Place {
    fn new() -> Place {
        let dir = TempDir::new("disk");
        let old = AllocDir::new(dir.path(), OLD);
        old.build().unwrap();
        old.build_task("t").unwrap();
        old.build_task("gone").unwrap();
        Place { dir }
    }

    fn old(&self, path: &str) -> PathBuf {
        self.dir.path().join(OLD).join(path)
    }

    fn pack(&self, removed: bool) -> Vec<u8> {
        let old = AllocDir::new(self.dir.path(), OLD).open().unwrap();
        let mut out = Vec::new();
        pack(&old, OLD, &tasks(&["t", "gone"]), || removed, &mut out).unwrap();
        out
    }

    /// Unpacks into a new directory, beside one that has to stay as it is.
    fn unpack(&self, archive: &[u8], wanted: &Wanted) -> Result<Unpacked, DiskError> {
        let dir = TempDir::new("unpacked");
        for name in ["in", "out"] {
            std::fs::create_dir(dir.path().join(name)).unwrap();
        }
        std::fs::write(dir.path().join("out/secret"), "foreign").unwrap();
        std::fs::set_permissions(dir.path().join("out/secret"), Permissions::from_mode(0o640)).unwrap();
        let into = Directory::open(&dir.path().join("in")).unwrap();
        let unpacked = unpack(&mut Cursor::new(archive), &into, wanted);
        assert_eq!(std::fs::read_to_string(dir.path().join("out/secret")).unwrap(), "foreign");
        assert_eq!(mode(&dir.path().join("out/secret")), 0o640);
        assert_eq!(std::fs::read_dir(dir.path().join("out")).unwrap().count(), 1, "nothing is outside");
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 2, "nothing is outside");
        unpacked.map(|()| Unpacked { dir })
    }
}

struct Unpacked {
    dir: TempDir,
}

impl Unpacked {
    fn path(&self, path: &str) -> PathBuf {
        self.dir.path().join("in").join(path)
    }

    fn text(&self, path: &str) -> String {
        std::fs::read_to_string(self.path(path)).unwrap()
    }
}

#[test]
fn a_disk_arrives_as_it_was() {
    let place = Place::new();
    let long = format!("alloc/data/{}/{}", "d".repeat(200), "f".repeat(200));
    std::fs::create_dir_all(place.old(&long).parent().unwrap()).unwrap();
    for (path, text) in [("alloc/data/x", "one"), ("t/local/y", "two"), ("alloc/logs/l", "log"), ("t/secrets/s", "s")] {
        std::fs::write(place.old(path), text).unwrap();
    }
    std::fs::write(place.old(&long), "long").unwrap();
    std::fs::write(place.old("gone/local/z"), "three").unwrap();
    std::fs::create_dir(place.old("t/local/closed")).unwrap();
    std::fs::write(place.old("t/local/closed/in"), "").unwrap();
    symlink("x", place.old("alloc/data/link")).unwrap();
    symlink("../../alloc/data/x", place.old("t/local/up")).unwrap();
    symlink("nowhere", place.old("t/local/dangling")).unwrap();
    assert!(std::process::Command::new("mkfifo").arg(place.old("t/local/pipe")).status().unwrap().success());
    for (path, bits) in [("alloc/data/x", 0o640), ("t/local/y", 0o4755), ("t/local/closed", 0o2750)] {
        std::fs::set_permissions(place.old(path), Permissions::from_mode(bits)).unwrap();
    }
    if is_root() {
        std::os::unix::fs::chown(place.old("t/local/y"), Some(1234), Some(4321)).unwrap();
        std::fs::set_permissions(place.old("t/local/y"), Permissions::from_mode(0o4755)).unwrap();
        std::os::unix::fs::lchown(place.old("t/local/up"), Some(77), Some(78)).unwrap();
    }
    let got = place.unpack(&place.pack(false), &wanted(&["t", "new"])).unwrap();
    assert_eq!(
        (got.text("alloc/data/x"), got.text("t/local/y"), got.text(&long)),
        ("one".into(), "two".into(), "long".into())
    );
    assert_eq!(std::fs::read_link(got.path("alloc/data/link")).unwrap(), Path::new("x"));
    assert_eq!(std::fs::read_link(got.path("t/local/up")).unwrap(), Path::new("../../alloc/data/x"));
    assert_eq!(std::fs::read_link(got.path("t/local/dangling")).unwrap(), Path::new("nowhere"));
    assert_eq!((mode(&got.path("alloc/data/x")), mode(&got.path("t/local/y"))), (0o640, 0o755), "no set-user-ID bit");
    for other in ["alloc/logs", "t/secrets", "t/private", "gone", "new", "t/local/pipe"] {
        assert!(!got.path(other).exists(), "{other} is not moved");
    }
    let changed = |path: PathBuf| path.metadata().unwrap().mtime();
    assert_eq!(changed(got.path("alloc/data/x")), changed(place.old("alloc/data/x")));
    if is_root() {
        assert_eq!(mode(&got.path("t/local/closed")), 0o2750);
        let owner = |path: &str| {
            let found = got.path(path).symlink_metadata().unwrap();
            (found.uid(), found.gid())
        };
        assert_eq!((owner("t/local/y"), owner("t/local/up")), ((1234, 4321), (77, 78)));
        assert_eq!(owner("alloc/data"), (65_534, 65_534));
    }
}

#[test]
fn what_arrived_is_moved_to_its_place() {
    let place = Place::new();
    std::fs::write(place.old("alloc/data/x"), "one").unwrap();
    std::fs::write(place.old("t/local/y"), "two").unwrap();
    let new = AllocDir::new(place.dir.path(), "0bbbbbbb");
    new.build().unwrap();
    let arrivals = new.arrivals().unwrap();
    arrivals.replace("left", b"", 0o600, None).unwrap();
    let arrivals = new.arrivals().unwrap();
    assert_eq!(arrivals.names().unwrap(), ["alloc"], "what an earlier run left is gone");
    unpack(&mut Cursor::new(place.pack(false)), &arrivals, &wanted(&["t", "new"])).unwrap();
    new.take_arrivals(&arrivals, &["t".into(), "new".into()]).unwrap();
    new.build_task("t").unwrap();
    assert_eq!(std::fs::read(new.shared().join("data/x")).unwrap(), b"one");
    assert_eq!(std::fs::read(new.task("t").join("local/y")).unwrap(), b"two");
    let mut left = new.open().unwrap().open_dir("alloc", Links::Refused).unwrap().names().unwrap();
    left.sort();
    assert_eq!(left, ["data", "logs", "tmp"]);
}

#[test]
fn nothing_is_read_through_a_link() {
    let place = Place::new();
    std::fs::create_dir(place.dir.path().join("foreign")).unwrap();
    std::fs::write(place.dir.path().join("foreign/secret"), "foreign").unwrap();
    for root in ["alloc/data", "t/local"] {
        std::fs::remove_dir(place.old(root)).unwrap();
        symlink("../../foreign", place.old(root)).unwrap();
    }
    std::fs::remove_dir(place.old("gone/local")).unwrap();
    std::fs::write(place.old("gone/local"), "a file").unwrap();
    let archive = place.pack(false);
    assert!(!String::from_utf8_lossy(&archive).contains("foreign"));
    let got = place.unpack(&archive, &wanted(&["t", "gone"])).unwrap();
    assert_eq!(std::fs::read_dir(got.path("")).unwrap().count(), 0);
}

#[test]
fn the_sender_reports_what_it_could_not_read() {
    let place = Place::new();
    std::fs::write(place.old("alloc/data/x"), "one").unwrap();
    let removed = place.unpack(&place.pack(true), &wanted(&["t"])).err().unwrap();
    assert_eq!(removed.to_string(), "its node could not read all of it: the allocation was removed while it was read");
    let mut deep = place.old("t/local");
    (0..130).for_each(|_| deep.push("d"));
    std::fs::create_dir_all(&deep).unwrap();
    let levels = place.unpack(&place.pack(false), &wanted(&["t"])).err().unwrap().to_string();
    assert!(levels.ends_with("more than 128 levels of directories"), "{levels}");
    // The name counts for this allocation alone, and what the other side writes is shown safely.
    let error = member(EntryType::Regular, error_member(OLD).as_bytes(), b"", b"disk\n\x1b[2J");
    let shown = place.tar(&[error], &wanted(&["t"])).err().unwrap().to_string();
    assert_eq!(shown, "its node could not read all of it: disk\\n\\u{1b}[2J");
    let other = member(EntryType::Regular, error_member("other").as_bytes(), b"", b"x");
    assert!(place.tar(&[other], &wanted(&["t"])).is_ok());
}

fn member(kind: EntryType, name: &[u8], link: &[u8], content: &[u8]) -> Vec<u8> {
    tar_member(0o777, kind, name, link, content)
}

fn file(name: &str, content: &str) -> Vec<u8> {
    member(EntryType::Regular, name.as_bytes(), b"", content.as_bytes())
}

fn link(name: &str, target: &str) -> Vec<u8> {
    member(EntryType::Symlink, name.as_bytes(), target.as_bytes(), b"")
}

impl Place {
    fn tar(&self, members: &[Vec<u8>], wanted: &Wanted) -> Result<Unpacked, DiskError> {
        self.unpack(&[members.concat(), vec![0; 1024]].concat(), wanted)
    }
}

#[test]
fn hostile_archives_are_refused() {
    let place = Place::new();
    let of = |kind, name: &str| member(kind, name.as_bytes(), b"alloc/data/f", b"");
    let (name, link_out, through) = ("which is not allowed", "that leads out of it", "Not a directory");
    let (kind, large) = ("neither file, directory nor link", "larger than the 1 MiB of ephemeral_disk.size");
    let bytes = |name: &str, count: usize| file(name, &"x".repeat(count));
    let refused: Vec<(&str, Vec<Vec<u8>>, &str)> = vec![
        ("up", vec![file("../out/x", "x")], name),
        ("up, in between", vec![file("alloc/data/../../../out/x", "x")], name),
        ("absolute", vec![file("/alloc/data/x", "x")], name),
        ("too deep", vec![file(&format!("t/local/{}", "d/".repeat(40)), ""), deep()], name),
        ("empty link", vec![link("alloc/data/l", "")], name),
        ("link up", vec![link("alloc/data/l", "../../../out")], link_out),
        ("absolute link", vec![link("alloc/data/l", "/etc/passwd")], link_out),
        ("link up behind a name", vec![link("alloc/data/l", "a/../../../../out")], link_out),
        ("through a link", vec![link("alloc/data/l", "d"), file("alloc/data/l/x", "x")], through),
        ("directory over link", vec![link("t/local/l", "../../alloc"), of(EntryType::Directory, "t/local/l")], through),
        ("a file in place of the disk", vec![file("alloc/data", "x")], kind),
        ("a link in place of the disk", vec![link("t/local", "../alloc")], kind),
        ("a hard link", vec![file("alloc/data/f", "x"), of(EntryType::Link, "alloc/data/h")], kind),
        ("a device", vec![of(EntryType::Block, "alloc/data/d")], kind),
        ("a character device", vec![of(EntryType::Char, "alloc/data/d")], kind),
        ("a pipe", vec![of(EntryType::Fifo, "alloc/data/p")], kind),
        ("a sparse file", vec![of(EntryType::GNUSparse, "alloc/data/s")], "failed to read the archive"),
        ("too large", vec![bytes("alloc/data/f", (1 << 20) + 1)], large),
        ("too large in all", vec![bytes("alloc/data/f", 1 << 19), bytes("t/local/f", (1 << 19) + 1)], large),
        ("too large, of another task", vec![bytes("other/local/f", (1 << 20) + 1)], large),
    ];
    for (what, members, why) in refused {
        let error = place.tar(&members, &wanted(&["t"])).err().unwrap_or_else(|| panic!("{what} is taken"));
        assert!(error.to_string().contains(why), "{what}: {error}");
    }
    // Links that stay inside are kept, and files take the place of links.
    let good = [link("t/local/l", "../../alloc/data"), link("alloc/data/m", "f"), file("alloc/data/m", "own")];
    assert_eq!(place.tar(&good, &wanted(&["t"])).unwrap().text("alloc/data/m"), "own");
}

fn deep() -> Vec<u8> {
    let name = format!("t/local/{}x", "d/".repeat(130));
    let long = member(EntryType::GNULongName, b"././@LongLink", b"", format!("{name}\0").as_bytes());
    [long, file("t/local/x", "x")].concat()
}

#[test]
fn owners_have_to_be_numbers() {
    let place = Place::new();
    for broken in [u64::from(u32::MAX), u64::from(u32::MAX) + 1] {
        let mut bytes = file("alloc/data/f", "x");
        let mut header = Header::new_gnu();
        header.as_mut_bytes().copy_from_slice(&bytes[..512]);
        header.set_uid(broken);
        header.set_cksum();
        bytes[..512].copy_from_slice(header.as_bytes());
        let error = place.tar(&[bytes], &wanted(&["t"])).err().unwrap();
        assert!(matches!(error, DiskError::Owner(name) if name == "alloc/data/f"));
    }
}

#[test]
fn entries_are_counted() {
    let place = Place::new();
    let members: Vec<_> = (0..11).map(|n| file(&format!("alloc/data/{n}"), "")).collect();
    let wanted = Wanted { members: 10, ..wanted(&["t"]) };
    assert!(place.tar(&members[..10], &wanted).is_ok());
    assert!(matches!(place.tar(&members, &wanted), Err(DiskError::TooMany)));
}

#[test]
fn parts_of_archives_are_no_archives() {
    let place = Place::new();
    let read = |bytes: &[u8], end: bool, most: u64| {
        let (to, mut receiver) = Receiver::new(most);
        for piece in bytes.chunks(700) {
            // What the channel has no room for is lost.
            let _ = to.try_send(Piece::Bytes(piece.to_vec()));
        }
        if end {
            let _ = to.try_send(Piece::End);
        }
        drop(to);
        let into = Directory::open(&place.dir.path().join("into")).unwrap();
        unpack(&mut receiver, &into, &wanted(&["t"]))?;
        if receiver.is_complete() { Ok(()) } else { Err(DiskError::CutOff) }
    };
    std::fs::create_dir(place.dir.path().join("into")).unwrap();
    let small = [file("alloc/data/f", "x"), vec![0; 1024]].concat();
    read(&small, true, 1 << 20).unwrap();
    assert!(matches!(read(&small, false, 1 << 20), Err(DiskError::CutOff)), "the connection broke");
    for length in [0, 100, 512, 600, 1024, 1500] {
        assert!(read(&small[..length], true, 1 << 20).is_err(), "{length} bytes");
    }
    assert!(matches!(read(&small, true, 1024), Err(DiskError::TooLarge(1))), "the archive is too long");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_archive_goes_through_the_pipes() {
    let place = Place::new();
    let big: Vec<u8> = (0..900_000_u32).map(|n| n as u8 | 1).collect();
    std::fs::write(place.old("t/local/big"), &big).unwrap();
    let (mut to, mut bytes) = Sender::new();
    let old = AllocDir::new(place.dir.path(), OLD).open().unwrap();
    let sending =
        tokio::task::spawn_blocking(move || pack(&old, OLD, &tasks(&["t"]), || false, &mut to).and_then(|()| to.end()));
    std::fs::create_dir(place.dir.path().join("into")).unwrap();
    let into = Directory::open(&place.dir.path().join("into")).unwrap();
    let (to, mut receiver) = Receiver::new(1 << 20);
    let unpacking = tokio::task::spawn_blocking(move || {
        let unpacked = unpack(&mut receiver, &into, &wanted(&["t"]));
        unpacked.map(|()| receiver.is_complete())
    });
    while let Some(piece) = bytes.next().await {
        to.send(Piece::Bytes(piece.unwrap())).await.ok().unwrap();
    }
    to.send(Piece::End).await.ok().unwrap();
    sending.await.unwrap().unwrap();
    assert!(unpacking.await.unwrap().unwrap());
    assert_eq!(std::fs::read(place.dir.path().join("into/t/local/big")).unwrap(), big);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_sender_that_breaks_off_is_an_error() {
    let (mut to, mut bytes) = Sender::new();
    let sending = tokio::task::spawn_blocking(move || {
        to.write_all(b"a part").unwrap();
        to.flush().unwrap();
    });
    assert_eq!(bytes.next().await.unwrap().unwrap(), b"a part");
    assert!(bytes.next().await.unwrap().is_err() && bytes.next().await.is_none());
    sending.await.unwrap();
    // Nobody reads any more: the thread ends.
    let (mut to, bytes) = Sender::new();
    drop(bytes);
    let sending = tokio::task::spawn_blocking(move || to.write_all(&[0; 1 << 20]));
    assert!(sending.await.unwrap().is_err());
}

#[test]
fn only_the_disk_is_moved() {
    let of = |path: &str| part(Path::new(path), &tasks(&["t"]));
    assert_eq!(
        (of("alloc/data"), of("t/local"), of("t/local/a/b")),
        (Some(Part::Root), Some(Part::Root), Some(Part::Below))
    );
    for other in ["alloc", "t", "alloc/logs/x", "alloc/local", "t/data", "t/secrets/x", "other/local/x", "x"] {
        assert_eq!(of(other), None, "{other}");
    }
}

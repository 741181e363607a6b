use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use base64::Engine;
use flate2::write::GzEncoder;
use tar::EntryType;

use super::*;
use crate::artifacts::publish;
use crate::testing::{TempDir, tar_member};

const NO_LIMITS: Limits = Limits { bytes: None, members: None };
/// `content`, as `xz -0` compresses it.
const XZ: &str = "/Td6WFoAAATm1rRGAgAhAQwAAACPmEGcAQAGY29udGVudAAA3I01Iv/BR3sAAR8HFi64cx+2830BAAAAAARZWg==";

fn member(kind: EntryType, name: &[u8], link: &[u8], content: &[u8]) -> Vec<u8> {
    tar_member(0o6777, kind, name, link, content)
}

fn file(name: &str, content: &str) -> Vec<u8> {
    member(EntryType::Regular, name.as_bytes(), b"", content.as_bytes())
}

/// A directory for a test, with the directory that is unpacked to and something beside it.
struct Place {
    dir: TempDir,
}

impl Place {
    fn new() -> Place {
        let dir = TempDir::new("archive");
        std::fs::create_dir(dir.path().join("in")).unwrap();
        std::fs::create_dir(dir.path().join("out")).unwrap();
        Place { dir }
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.dir.path().join("in").join(name)
    }

    fn file(&self, data: &[u8]) -> File {
        let path = self.dir.path().join("archive");
        std::fs::write(&path, data).unwrap();
        File::open(path).unwrap()
    }

    fn unpack(&self, data: &[u8], kind: Kind, limits: Limits) -> Result<(), UnpackError> {
        let into = Directory::open(&self.path("")).unwrap();
        let done = unpack(self.file(data), kind, &into, limits);
        assert_eq!(std::fs::read_dir(self.dir.path().join("out")).unwrap().count(), 0, "nothing is outside");
        assert_eq!(std::fs::read_dir(self.dir.path()).unwrap().count(), 3, "nothing is outside");
        done
    }

    fn tar(&self, members: &[Vec<u8>]) -> Result<(), UnpackError> {
        self.unpack(&[members.concat(), vec![0; 1024]].concat(), Kind::Tar(None), NO_LIMITS)
    }

    fn text(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap()
    }
}

fn mode(path: &Path) -> u32 {
    path.metadata().unwrap().permissions().mode() & 0o7777
}

#[test]
fn tar_archives_of_all_compressions() {
    let tar = [file("./a/b", "content"), vec![0; 1024]].concat();
    let mut gzip = GzEncoder::new(Vec::new(), flate2::Compression::default());
    gzip.write_all(&tar).unwrap();
    let mut bzip2 = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
    bzip2.write_all(&tar).unwrap();
    for (data, how) in [
        (tar.clone(), None),
        (gzip.finish().unwrap(), Some(Compression::Gzip)),
        (bzip2.finish().unwrap(), Some(Compression::Bzip2)),
        (zstd::encode_all(&tar[..], 1).unwrap(), Some(Compression::Zstd)),
    ] {
        let place = Place::new();
        place.unpack(&data, Kind::Tar(how), NO_LIMITS).unwrap();
        assert_eq!(place.text("a/b"), "content", "{how:?}");
        let cut = &data[..data.len() / 3];
        assert!(Place::new().unpack(cut, Kind::Tar(how), NO_LIMITS).is_err(), "{how:?}");
    }
}

#[test]
fn a_single_file_is_decompressed_up_to_the_limit() {
    let place = Place::new();
    let data = base64::engine::general_purpose::STANDARD.decode(XZ).unwrap();
    let mut to = File::create_new(place.path("f")).unwrap();
    decompress(place.file(&data), Compression::Xz, &mut to, NO_LIMITS).unwrap();
    assert_eq!(place.text("f"), "content");
    to.seek(SeekFrom::Start(0)).unwrap();
    let limits = Limits { bytes: Some(6), members: None };
    let error = decompress(place.file(&data), Compression::Xz, &mut to, limits).unwrap_err();
    assert!(matches!(error, UnpackError::TooLarge(6)), "{error}");
    assert!(decompress(place.file(b"x"), Compression::Xz, &mut to, NO_LIMITS).is_err());
    assert_eq!((without_extension("a.tar.GZ").as_str(), without_extension("b").as_str()), ("a", "b"));
}

#[test]
fn modes_links_and_repeated_names() {
    let place = Place::new();
    place
        .tar(&[
            member(EntryType::XGlobalHeader, b"pax_global_header", b"", b"9 a=b\n\n\n"),
            member(EntryType::Directory, b"./", b"", b""),
            member(EntryType::Directory, b"d/", b"", b""),
            file("d/f", "one"),
            member(EntryType::Link, b"d/h", b"./d/f", b""),
            member(EntryType::Symlink, b"s", b"d/f", b""),
            file("d/f", "two"),
            // In place of the link, not through it.
            file("s", "three"),
        ])
        .unwrap();
    assert_eq!((place.text("d/f"), place.text("d/h"), place.text("s")), ("two".into(), "one".into(), "three".into()));
    assert_eq!((mode(&place.path("d/f")), mode(&place.path("d"))), (0o755, 0o755));
    assert!(!place.path("s").is_symlink());
}

#[test]
fn hostile_members_are_refused() {
    for (members, want) in [
        (vec![file("../out/x", "x")], "a member with the name \"../out/x\", which is not allowed"),
        (vec![file("a/../../out/x", "x")], "which is not allowed"),
        (vec![file("/tmp/x", "x")], "a member with the name \"/tmp/x\", which is not allowed"),
        (vec![file(".", "x")], "which is not allowed"),
        (vec![file("a\nb/..", "x")], "a member with the name \"a\\nb/..\", which is not allowed"),
        (vec![file(&"d/".repeat(45), "x")], ""),
        (vec![member(EntryType::Fifo, b"p", b"", b"")], "\"p\" that is neither file, directory nor link"),
        (vec![member(EntryType::Block, b"p", b"", b"")], "neither file, directory nor link"),
        (vec![member(EntryType::Char, b"p", b"", b"")], "neither file, directory nor link"),
        (vec![member(EntryType::Link, b"h", b"../out", b"")], "\"../out\", which is not allowed"),
        (vec![member(EntryType::Link, b"h", b"/etc/passwd", b"")], "\"/etc/passwd\", which is not allowed"),
        (vec![member(EntryType::Link, b"h", b"nothing", b"")], "hard link \"h\" to what is no earlier file"),
        (vec![member(EntryType::Symlink, b"l", b"../out", b""), file("l/x", "x")], "failed to unpack \"l/x\""),
        (
            vec![member(EntryType::Symlink, b"l", b"../out", b""), member(EntryType::Directory, b"l/d", b"", b"")],
            "failed to unpack \"l/d\"",
        ),
        (
            vec![member(EntryType::Symlink, b"l", b"../out", b""), member(EntryType::Link, b"h", b"l/x", b"")],
            "hard link \"h\" to what is no earlier file",
        ),
        (
            vec![member(EntryType::Symlink, b"l", b"../archive", b""), member(EntryType::Link, b"h", b"l", b"")],
            "hard link \"h\" to what is no earlier file",
        ),
        (vec![member(EntryType::Symlink, b"l", b"", b"")], "\"l\", which is not allowed"),
        (vec![file("a", "x"), file("a/b", "x")], "failed to unpack \"a/b\""),
        (vec![member(EntryType::Directory, b"a", b"", b""), file("a", "x")], "failed to unpack \"a\""),
    ] {
        let done = Place::new().tar(&members);
        match want {
            "" => done.unwrap(),
            want => {
                let error = done.unwrap_err().to_string();
                assert!(error.contains(want), "{error:?} has no {want:?}");
            }
        }
    }
}

#[test]
fn links_that_lead_out_are_found_afterwards() {
    let place = Place::new();
    place.tar(&[member(EntryType::Symlink, b"l", b"../out", b"")]).unwrap();
    let tree = Directory::open(&place.path("")).unwrap();
    assert!(publish::check(&tree, true, None).is_err());
}

#[test]
fn sizes_counts_and_headers_are_bounded() {
    let zeros = vec![0; 1 << 20];
    let bomb = [member(EntryType::Regular, b"z", b"", &zeros), vec![0; 1024]].concat();
    let bomb = zstd::encode_all(&bomb[..], 1).unwrap();
    let kind = Kind::Tar(Some(Compression::Zstd));
    let unpack = |bytes, members| Place::new().unpack(&bomb, kind, Limits { bytes, members });
    assert!(matches!(unpack(Some(1000), None), Err(UnpackError::TooLarge(1000))));
    assert!(matches!(unpack(None, Some(0)), Err(UnpackError::TooMany(0))));
    unpack(Some(1 << 20), Some(1)).unwrap();
    // A name of two megabytes.
    let name = member(EntryType::GNULongName, b"././@LongLink", b"", &vec![b'a'; 2 << 20]);
    assert!(matches!(Place::new().tar(&[name, file("x", "")]), Err(UnpackError::Header)));
    // Data of a member that has none.
    let dir = member(EntryType::Directory, b"d", b"", &vec![0; 2 << 20]);
    assert!(Place::new().tar(&[dir, file("x", "")]).is_err());
}

fn zip(members: &[(&str, u32, &[u8])]) -> Vec<u8> {
    let mut writer = zip::ZipWriter::new(io::Cursor::new(Vec::new()));
    for (name, mode, content) in members {
        let options = zip::write::SimpleFileOptions::default()
            .compression_method(zip::CompressionMethod::Deflated)
            .unix_permissions(*mode);
        writer.start_file(*name, options).unwrap();
        writer.write_all(content).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

/// A zip archive whose first member has a link's mode.
fn zip_with_link(name: &str, target: &str) -> Vec<u8> {
    let mut writer = zip::ZipWriter::new(io::Cursor::new(Vec::new()));
    writer.add_symlink(name, target, zip::write::SimpleFileOptions::default()).unwrap();
    writer.finish().unwrap().into_inner()
}

#[test]
fn zip_archives() {
    let place = Place::new();
    let data = zip(&[("a/b", 0o6777, b"content"), ("c", 0o600, b"")]);
    place.unpack(&data, Kind::Zip, NO_LIMITS).unwrap();
    assert_eq!((place.text("a/b"), mode(&place.path("a/b")), mode(&place.path("c"))), ("content".into(), 0o755, 0o600));
    for (data, limits, want) in [
        (zip(&[("../out/x", 0o644, b"x")]), NO_LIMITS, "\"../out/x\", which is not allowed"),
        (zip(&[("/tmp/x", 0o644, b"x")]), NO_LIMITS, "which is not allowed"),
        (zip(&[("z", 0o644, &vec![0; 1 << 20])]), Limits { bytes: Some(1000), members: None }, "1000 bytes"),
        (data.clone(), Limits { bytes: None, members: Some(1) }, "more than 1 members"),
        (data[..data.len() / 2].to_vec(), NO_LIMITS, "failed to read the archive"),
        (b"PK".to_vec(), NO_LIMITS, "failed to read the archive"),
    ] {
        let error = Place::new().unpack(&data, Kind::Zip, limits).unwrap_err().to_string();
        assert!(error.contains(want), "{error:?} has no {want:?}");
    }
    let place = Place::new();
    place.unpack(&zip_with_link("l", "../out"), Kind::Zip, NO_LIMITS).unwrap();
    assert_eq!(std::fs::read_link(place.path("l")).unwrap(), Path::new("../out"));
    let tree = Directory::open(&place.path("")).unwrap();
    assert!(publish::check(&tree, true, None).is_err());
    // What is there already is not followed either.
    let place = Place::new();
    symlink("../out", place.path("a")).unwrap();
    assert!(place.unpack(&zip(&[("a/b", 0o644, b"x")]), Kind::Zip, NO_LIMITS).is_err());
}

#[test]
fn damaged_archives_are_errors() {
    let tar = [file("a/b", "content"), member(EntryType::Symlink, b"s", b"a", b""), vec![0; 1024]].concat();
    let zip = zip(&[("a/b", 0o644, b"content"), ("c", 0o644, b"more")]);
    for (whole, kind) in [(tar, Kind::Tar(None)), (zip, Kind::Zip)] {
        for at in (0..whole.len()).step_by(5) {
            let mut data = whole.clone();
            data[at] ^= 0x55;
            // Whatever it is: no panic, and nothing outside.
            let _ = Place::new().unpack(&data, kind, Limits { bytes: Some(1 << 20), members: Some(100) });
        }
    }
}

//! Rotates log files.

use std::fs::File;
use std::io::{self, Write};

use crate::directory::Directory;

/// This close to the end of a file a line is not split.
const LINE_WINDOW: u64 = 32 * 1024;

/// How the output of a task is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct LogSettings {
    /// Files per stream.
    pub max_files: u64,
    /// Bytes per file.
    pub max_bytes: u64,
}

/// Writes one stream of a task into files `<name>.<n>`.
pub(crate) struct Rotator {
    dir: Directory,
    name: String,
    settings: LogSettings,
    index: u64,
    file: File,
    written: u64,
    /// The last byte written ended a line.
    at_line_start: bool,
}

impl Rotator {
    /// Goes on in the last file that is not full.
    pub(crate) fn open(dir: Directory, name: String, settings: LogSettings) -> io::Result<Rotator> {
        let settings = LogSettings { max_files: settings.max_files.max(1), max_bytes: settings.max_bytes.max(1) };
        let files = super::files(&dir, &name)?;
        let index = match files.last_key_value() {
            Some((n, size)) if *size >= settings.max_bytes => n.saturating_add(1),
            Some((n, _)) => *n,
            None => 0,
        };
        let (file, written) = open(&dir, &name, index)?;
        let rotator = Rotator { dir, name, settings, index, file, written, at_line_start: true };
        rotator.prune();
        Ok(rotator)
    }

    /// Writes bytes, into as many files as it takes.
    pub(crate) fn write(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            let room = self.settings.max_bytes.saturating_sub(self.written);
            if room == 0 {
                self.rotate()?;
                continue;
            }
            let fits = usize::try_from(room).unwrap_or(usize::MAX);
            let now = if bytes.len() <= fits { bytes.len() } else { self.cut(bytes, fits) };
            let (head, tail) = bytes.split_at(now.min(bytes.len()));
            self.file.write_all(head)?;
            self.written = self.written.saturating_add(u64::try_from(head.len()).unwrap_or(0));
            self.at_line_start = head.last().map_or(self.at_line_start, |b| *b == b'\n');
            bytes = tail;
            if !bytes.is_empty() {
                self.rotate()?;
            }
        }
        Ok(())
    }

    /// How much of what does not fit goes into this file: up to the end of a line, if one ends near the file's end and
    /// the next line fits into the next file.
    fn cut(&self, bytes: &[u8], fits: usize) -> usize {
        let head = bytes.get(..fits).unwrap_or(bytes);
        let end = match head.iter().rposition(|b| *b == b'\n') {
            Some(at) => at + 1,
            None if self.at_line_start => 0,
            None => return fits,
        };
        let line = bytes.get(end..).unwrap_or_default();
        let length = line.iter().position(|b| *b == b'\n').map_or(line.len(), |n| n + 1);
        let near = |n: usize, limit: u64| u64::try_from(n).is_ok_and(|n| n <= limit);
        if near(fits - end, LINE_WINDOW) && near(length, self.settings.max_bytes) { end } else { fits }
    }

    fn rotate(&mut self) -> io::Result<()> {
        loop {
            self.index = self.index.saturating_add(1);
            let (file, written) = open(&self.dir, &self.name, self.index)?;
            (self.file, self.written) = (file, written);
            if written < self.settings.max_bytes {
                break;
            }
        }
        self.prune();
        Ok(())
    }

    /// Deletes what is older than the newest files.
    fn prune(&self) {
        let Ok(files) = super::files(&self.dir, &self.name) else { return };
        let oldest = self.index.saturating_sub(self.settings.max_files - 1);
        for n in files.keys().filter(|n| **n < oldest) {
            // The next rotation tries again.
            let _ = self.dir.remove_file(format!("{}.{n}", self.name));
        }
    }
}

/// Anything that a task put in the place of the file is replaced.
fn open(dir: &Directory, name: &str, index: u64) -> io::Result<(File, u64)> {
    let file = dir.append(&format!("{name}.{index}"), 0o644)?;
    let size = file.metadata()?.len();
    Ok((file, size))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::TempDir;

    #[test]
    fn files_follow_each_other_and_old_ones_go() {
        let dir = TempDir::new("rotate");
        let settings = LogSettings { max_files: 2, max_bytes: 10 };
        let open = || Rotator::open(Directory::open(dir.path()).unwrap(), "t.stdout".into(), settings).unwrap();
        let read = |n: u64| std::fs::read_to_string(dir.path().join(format!("t.stdout.{n}"))).unwrap_or_default();
        let mut r = open();
        r.write(b"one\ntwo\n").unwrap();
        r.write(b"three\n").unwrap();
        assert_eq!((read(0), read(1)), ("one\ntwo\n".into(), "three\n".into()), "no line is split");
        drop(r);
        let mut r = open();
        r.write(b"4\n").unwrap();
        assert_eq!(read(1), "three\n4\n", "goes on in the last file");
        r.write(b"a line that is much too long\n").unwrap();
        let all: String = (0..9).map(read).collect();
        assert!("three\n4\na line that is much too long\n".ends_with(&all), "{all:?}");
        assert_eq!(super::super::files(&Directory::open(dir.path()).unwrap(), "t.stdout").unwrap().len(), 2);
    }

    #[test]
    fn links_are_neither_continued_nor_rotated_into() {
        let dir = TempDir::new("rotate");
        let logs = dir.path().join("logs");
        std::fs::create_dir(&logs).unwrap();
        let other = dir.path().join("other");
        std::fs::write(&other, "other\n").unwrap();
        for n in 0..2 {
            std::os::unix::fs::symlink(&other, logs.join(format!("t.stdout.{n}"))).unwrap();
        }
        let settings = LogSettings { max_files: 3, max_bytes: 10 };
        let mut r = Rotator::open(Directory::open(&logs).unwrap(), "t.stdout".into(), settings).unwrap();
        r.write(b"12345678\nabcdefgh\n").unwrap();
        assert_eq!(std::fs::read_to_string(&other).unwrap(), "other\n");
        let read = |n: u64| std::fs::read_to_string(logs.join(format!("t.stdout.{n}"))).unwrap();
        assert_eq!((read(0), read(1)), ("12345678\n".into(), "abcdefgh\n".into()));
    }
}

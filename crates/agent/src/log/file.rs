//! The log file and its rotation by size and age.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The log file.
#[derive(Debug, Clone)]
pub struct FileSettings {
    /// The path; a path that ends with `/` is a directory, in which the file is called `nomad.log`.
    pub path: PathBuf,
    /// The size in bytes at which the file is rotated; 0 for never.
    pub max_bytes: u64,
    /// The age at which the file is rotated.
    pub max_age: Duration,
    /// The number of old files to keep; 0 for all.
    pub max_files: usize,
}

/// The current log file and its settings.
pub(super) struct LogFile {
    settings: FileSettings,
    path: PathBuf,
    file: File,
    written: u64,
    begun: SystemTime,
}

impl LogFile {
    /// Opens the file; appends to an existing one.
    pub(super) fn open(settings: &FileSettings) -> io::Result<LogFile> {
        let path = if settings.path.as_os_str().as_encoded_bytes().ends_with(b"/") {
            settings.path.join("nomad.log")
        } else {
            settings.path.clone()
        };
        let at = |e: io::Error| io::Error::new(e.kind(), format!("{}: {e}", path.display()));
        if let Some(folder) = path.parent().filter(|p| !p.as_os_str().is_empty()) {
            fs::create_dir_all(folder).map_err(at)?;
        }
        let file = append(&path).map_err(at)?;
        let meta = file.metadata().map_err(at)?;
        let begun = meta.created().unwrap_or_else(|_| SystemTime::now());
        Ok(LogFile { settings: settings.clone(), path, file, written: meta.len(), begun })
    }

    /// The path of the current file.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Writes a line. The line is lost if the disk is full: logging must not stop the agent.
    pub(super) fn write(&mut self, now: SystemTime, line: &str) {
        let old = now.duration_since(self.begun).unwrap_or_default() >= self.settings.max_age;
        let full = self.settings.max_bytes > 0 && self.written >= self.settings.max_bytes;
        if full || (old && self.written > 0) {
            // A failure leaves the old file in use; the next line tries again.
            let _ = self.rotate(now);
        }
        if self.file.write_all(line.as_bytes()).is_ok() {
            self.written += line.len() as u64;
        }
    }

    fn rotate(&mut self, now: SystemTime) -> io::Result<()> {
        let (stem, extension) = name_parts(&self.path);
        let nanos = now.duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
        fs::rename(&self.path, self.path.with_file_name(format!("{stem}-{nanos}{extension}")))?;
        self.file = append(&self.path)?;
        (self.written, self.begun) = (0, now);
        self.prune(&stem, &extension)
    }

    /// Removes the oldest files beyond the maximum number.
    fn prune(&self, stem: &str, extension: &str) -> io::Result<()> {
        if self.settings.max_files == 0 {
            return Ok(());
        }
        let folder = self.path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let mut old: Vec<(u128, PathBuf)> = Vec::new();
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            let name = path.file_name().and_then(|n| n.to_str()).unwrap_or_default();
            let number =
                name.strip_prefix(stem).and_then(|n| n.strip_prefix('-')).and_then(|n| n.strip_suffix(extension));
            if let Some(nanos) = number.and_then(|n| n.parse().ok()) {
                old.push((nanos, path));
            }
        }
        old.sort();
        let surplus = old.len().saturating_sub(self.settings.max_files);
        old.iter().take(surplus).try_for_each(|(_, path)| fs::remove_file(path))
    }
}

fn append(path: &Path) -> io::Result<File> {
    OpenOptions::new().create(true).append(true).mode(0o640).open(path)
}

/// `agent` and `.log` of `/x/agent.log`.
fn name_parts(path: &Path) -> (String, String) {
    let text = |s: Option<&std::ffi::OsStr>| s.map(|s| s.to_string_lossy().into_owned());
    let extension = text(path.extension()).map(|e| format!(".{e}")).unwrap_or_default();
    (text(path.file_stem()).unwrap_or_default(), extension)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A temporary directory of the test.
    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Folder {
            let path = std::env::temp_dir().join(format!("encamp-log-{name}-{}", std::process::id()));
            let _ = fs::remove_dir_all(&path);
            fs::create_dir_all(&path).expect("a folder");
            Folder(path)
        }

        fn names(&self) -> Vec<String> {
            let entries = fs::read_dir(&self.0).expect("the folder");
            let mut names: Vec<String> =
                entries.map(|e| e.expect("an entry").file_name().to_string_lossy().into_owned()).collect();
            names.sort();
            names
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    fn settings(path: PathBuf) -> FileSettings {
        FileSettings { path, max_bytes: 0, max_age: Duration::from_secs(86_400), max_files: 0 }
    }

    #[test]
    fn a_full_file_makes_way_for_a_new_one() {
        let folder = Folder::new("full");
        let settings = FileSettings { max_bytes: 4, max_files: 2, ..settings(folder.0.join("a.log")) };
        let mut log = LogFile::open(&settings).expect("a file");
        for i in 0..5_u64 {
            log.write(UNIX_EPOCH + Duration::from_nanos(i), &format!("line{i}\n"));
        }
        assert_eq!(folder.names(), ["a-3.log", "a-4.log", "a.log"]);
        let read = |name: &str| fs::read_to_string(folder.0.join(name)).expect("a file");
        assert_eq!([read("a-3.log"), read("a-4.log"), read("a.log")], ["line2\n", "line3\n", "line4\n"]);
    }

    #[test]
    fn an_old_file_makes_way_and_a_folder_gets_the_usual_name() {
        let folder = Folder::new("old");
        let mut log = LogFile::open(&settings(folder.0.join("x/"))).expect("a file");
        let now = SystemTime::now();
        log.write(now, "a\n");
        log.write(now + Duration::from_secs(86_401), "b\n");
        let names = Folder(folder.0.join("x")).names();
        assert_eq!(names.len(), 2);
        assert!(names.contains(&"nomad.log".to_string()), "{names:?}");
    }

    #[test]
    fn a_file_that_cannot_be_opened_names_itself() {
        let error = LogFile::open(&settings("/proc/nosuch/a.log".into())).map(|_| ()).expect_err("no such folder");
        assert!(error.to_string().contains("/proc/nosuch/a.log"), "{error}");
    }
}

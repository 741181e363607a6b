//! The file of a sink: appends whole rows, and rotates by size, age and number.

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use super::sink::FileSettings;

/// The current file and its settings.
pub(crate) struct LogFile {
    settings: FileSettings,
    file: File,
    begun: SystemTime,
    /// Whether it is a regular file: others are neither rotated, cut nor synchronised.
    regular: bool,
    /// Whether the last write may have left a part of a row.
    torn: bool,
}

impl LogFile {
    /// Opens the file; appends to an existing one.
    pub(crate) fn open(settings: &FileSettings) -> io::Result<LogFile> {
        if let Some(folder) = settings.path.parent().filter(|p| !p.as_os_str().is_empty()) {
            DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        }
        let (file, begun, regular) = append(settings)?;
        let torn = regular && !ends_a_line(&settings.path)?;
        Ok(LogFile { settings: settings.clone(), file, begun, regular, torn })
    }

    /// Whether it is a regular file.
    pub(crate) fn is_regular(&self) -> bool {
        self.regular
    }

    /// Whether the last write may have left a part of a row.
    pub(crate) fn may_be_torn(&self) -> bool {
        self.torn
    }

    /// The path of the current file.
    pub(crate) fn path(&self) -> &Path {
        &self.settings.path
    }

    /// Opens the file of the path again: it may have been moved away.
    pub(crate) fn reopen(&mut self) -> io::Result<()> {
        *self = LogFile::open(&self.settings)?;
        Ok(())
    }

    /// Appends rows, all or none. An error of the rotation alone is in the second result: the old file stays in use.
    pub(crate) fn write(&mut self, now: SystemTime, rows: &[u8]) -> (io::Result<()>, io::Result<()>) {
        let rotated = if self.is_due(now) { self.rotate(now) } else { Ok(()) };
        (self.append(rows), rotated)
    }

    /// Brings to the disk what was written.
    pub(crate) fn sync(&self) -> io::Result<()> {
        if self.regular { self.file.sync_data() } else { Ok(()) }
    }

    fn append(&mut self, rows: &[u8]) -> io::Result<()> {
        let before = if self.regular { self.file.metadata()?.len() } else { 0 };
        let written = if self.torn { self.file.write_all(b"\n") } else { Ok(()) };
        match written.and_then(|()| self.file.write_all(rows)) {
            Ok(()) => {
                self.torn = false;
                Ok(())
            }
            Err(e) => {
                // A part of the rows may be there.
                self.torn = self.torn || !self.regular || self.file.set_len(before).is_err();
                Err(e)
            }
        }
    }

    fn is_due(&self, now: SystemTime) -> bool {
        let length = match self.file.metadata() {
            Ok(meta) if self.regular => meta.len(),
            Ok(_) | Err(_) => return false,
        };
        let full = self.settings.rotate_bytes > 0 && length >= self.settings.rotate_bytes;
        let age = self.settings.rotate_duration;
        let old = !age.is_zero() && now.duration_since(self.begun).unwrap_or_default() >= age;
        length > 0 && (full || old)
    }

    fn rotate(&mut self, now: SystemTime) -> io::Result<()> {
        let (stem, extension) = name_parts(&self.settings.path);
        let nanos = now.duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
        let old = self.settings.path.with_file_name(format!("{stem}-{nanos}{extension}"));
        self.sync()?;
        fs::rename(&self.settings.path, &old)?;
        match append(&self.settings) {
            Ok((file, ..)) => (self.file, self.begun, self.torn) = (file, now, false),
            Err(e) => {
                // The old file stays in use; it takes its name back so that readers find it.
                let _ = fs::rename(&old, &self.settings.path);
                return Err(e);
            }
        }
        self.prune(&stem, &extension)
    }

    /// Removes the oldest files beyond the maximum number.
    fn prune(&self, stem: &str, extension: &str) -> io::Result<()> {
        if self.settings.rotate_max_files == 0 {
            return Ok(());
        }
        let folder = self.settings.path.parent().unwrap_or(Path::new("/"));
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
        let surplus = old.len().saturating_sub(self.settings.rotate_max_files);
        old.iter().take(surplus).try_for_each(|(_, path)| fs::remove_file(path))
    }
}

/// The file, since when it is in use, and whether it is a regular one.
fn append(settings: &FileSettings) -> io::Result<(File, SystemTime, bool)> {
    let path = &settings.path;
    if fs::metadata(path).is_ok_and(|meta| meta.file_type().is_fifo()) {
        // Opening one waits for a reader.
        return Err(io::Error::new(ErrorKind::InvalidInput, "the path is that of a pipe"));
    }
    let file = OpenOptions::new().create(true).append(true).mode(settings.mode).open(path)?;
    let meta = file.metadata()?;
    if meta.is_file() {
        // The umask and former settings do not count.
        file.set_permissions(Permissions::from_mode(settings.mode))?;
    }
    let begun = meta.created().or_else(|_| meta.modified()).unwrap_or_else(|_| SystemTime::now());
    Ok((file, begun, meta.is_file()))
}

/// Whether a file is empty or ends with a newline.
fn ends_a_line(path: &Path) -> io::Result<bool> {
    use std::os::unix::fs::FileExt;
    let file = File::open(path)?;
    let length = file.metadata()?.len();
    let mut last = [b'\n'];
    if length > 0 {
        file.read_exact_at(&mut last, length - 1)?;
    }
    Ok(last == [b'\n'])
}

/// `audit` and `.log` of `/x/audit.log`.
fn name_parts(path: &Path) -> (String, String) {
    let text = |s: Option<&std::ffi::OsStr>| s.map(|s| s.to_string_lossy().into_owned());
    let extension = text(path.extension()).map(|e| format!(".{e}")).unwrap_or_default();
    (text(path.file_stem()).unwrap_or_default(), extension)
}

//! Access to the files of an allocation (`docs/spec/client.md §26.1`).

use std::fs::Metadata;
use std::io::{Read, SeekFrom};
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::path::{Component, Path, PathBuf};

use tokio::io::{AsyncRead, AsyncReadExt, AsyncSeekExt};

use super::artifacts::STAGING;
use super::directory::{Directory, Links, PathError};
use super::error::ClientError;
use encamp_model::Time;
use encamp_model::responses::AllocFileInfo;

/// The directory of an allocation.
#[derive(Debug, Clone)]
pub(crate) struct AllocFiles {
    root: PathBuf,
}

/// A file's contents.
pub(crate) type Contents = Box<dyn AsyncRead + Send + Unpin>;

impl AllocFiles {
    /// The files below a directory.
    pub(crate) fn new(root: PathBuf) -> AllocFiles {
        AllocFiles { root }
    }

    /// Entries of a directory, by name.
    pub(crate) fn list(&self, path: &str) -> Result<Vec<AllocFileInfo>, ClientError> {
        let wrong = |e: PathError| self.error("open", path, e);
        let dir = self.tree(path, "open")?.open_dir(path, Links::Inside).map_err(wrong)?;
        let mut out = Vec::new();
        for name in dir.names().map_err(|e| wrong(e.into()))? {
            // One that vanished meanwhile is not there.
            if let Ok(meta) = dir.metadata(&name) {
                out.push(info(name.to_string_lossy().into_owned(), &meta));
            }
        }
        out.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(out)
    }

    /// One entry; a file with the type of its contents.
    pub(crate) fn stat(&self, path: &str) -> Result<AllocFileInfo, ClientError> {
        let tree = self.tree(path, "stat")?;
        let meta = tree.entry(path, Links::Inside).map_err(|e| self.error("stat", path, e))?.metadata;
        let name = self.shown(path).file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
        let mut out = info(name, &meta);
        if meta.is_file() {
            let mut start = Vec::new();
            // A file that can't be read has contents nobody knows.
            if let Ok((file, _)) = tree.open_file(path, Links::Inside) {
                let _ = file.take(512).read_to_end(&mut start);
            }
            out.content_type = content_type(&start).into();
        }
        Ok(out)
    }

    /// Contents of a file from a position, all to the end or `limit` bytes (0: no limit).
    pub(crate) async fn read(&self, path: &str, offset: u64, limit: u64) -> Result<Contents, ClientError> {
        let wrong = |e: std::io::Error| of_system("open", &self.shown(path), &e);
        let mut file = tokio::fs::File::from_std(self.open(path)?);
        file.seek(SeekFrom::Start(offset)).await.map_err(wrong)?;
        Ok(if limit == 0 { Box::new(file) } else { Box::new(file.take(limit)) })
    }

    /// Opens a file that may be read.
    pub(crate) fn open(&self, path: &str) -> Result<std::fs::File, ClientError> {
        let (file, real) =
            self.tree(path, "stat")?.open_file(path, Links::Inside).map_err(|e| self.error("stat", path, e))?;
        if real.components().next().is_some_and(|first| first.as_os_str().to_string_lossy().starts_with(STAGING)) {
            return Err(ClientError::Failed(format!("Reading private file prohibited: {path}")));
        }
        let second = real.components().nth(1).map(Component::as_os_str);
        for (name, word) in [("secrets", "secret"), ("private", "private")] {
            if second.is_some_and(|s| s == name) && !real.starts_with("alloc") {
                return Err(ClientError::Failed(format!("Reading {word} file prohibited: {path}")));
            }
        }
        Ok(file)
    }

    /// A handle on the directory, for a path whose `..` stay inside.
    fn tree(&self, path: &str, verb: &str) -> Result<Directory, ClientError> {
        let mut depth = 0_usize;
        for part in Path::new(path).components() {
            match part {
                Component::Normal(_) => depth += 1,
                Component::ParentDir => depth = depth.checked_sub(1).ok_or_else(escapes)?,
                _ => {}
            }
        }
        Directory::open(&self.root).map_err(|e| of_system(verb, &self.shown(path), &e))
    }

    fn error(&self, verb: &str, path: &str, error: PathError) -> ClientError {
        match error {
            PathError::Escapes => escapes(),
            PathError::IsDirectory => ClientError::Failed(format!("file \"{path}\" is a directory")),
            PathError::NotRegular => ClientError::Failed(format!("file \"{path}\" is no regular file")),
            PathError::Link => of_system(verb, &self.shown(path), &error.into()),
            PathError::Io(e) => of_system(verb, &self.shown(path), &e),
        }
    }

    /// The path below the directory, as errors show it.
    fn shown(&self, path: &str) -> PathBuf {
        let mut out = self.root.clone();
        for part in Path::new(path).components() {
            match part {
                Component::Normal(p) => out.push(p),
                Component::ParentDir => drop(out.pop()),
                _ => {}
            }
        }
        out
    }
}

fn escapes() -> ClientError {
    ClientError::Failed("Path escapes the alloc directory".into())
}

/// An error as Nomad words it: `stat /x: no such file or directory`.
fn of_system(verb: &str, path: &Path, error: &std::io::Error) -> ClientError {
    let text = |what: &str| format!("{verb} {}: {what}", path.display());
    match error.kind() {
        std::io::ErrorKind::NotFound => ClientError::NotFound(text("no such file or directory")),
        std::io::ErrorKind::PermissionDenied => ClientError::Failed(text("permission denied")),
        std::io::ErrorKind::NotADirectory => ClientError::Failed(text("not a directory")),
        _ => ClientError::Failed(text(&error.to_string())),
    }
}

fn info(name: String, meta: &Metadata) -> AllocFileInfo {
    let seconds = meta.mtime().saturating_mul(1_000_000_000).saturating_add(meta.mtime_nsec());
    AllocFileInfo {
        name,
        is_dir: meta.is_dir(),
        size: meta.len(),
        file_mode: mode(meta),
        mod_time: Time::from_unix_nanos(seconds),
        content_type: String::new(),
    }
}

/// A mode as `drwxrwxrwx`, with letters for kinds and special bits in front.
fn mode(meta: &Metadata) -> String {
    let kind = meta.file_type();
    let bits = meta.permissions().mode();
    let letters = [
        (kind.is_dir(), "d"),
        (kind.is_symlink(), "L"),
        (kind.is_block_device() || kind.is_char_device(), "D"),
        (kind.is_fifo(), "p"),
        (kind.is_socket(), "S"),
        (bits & 0o4000 != 0, "u"),
        (bits & 0o2000 != 0, "g"),
        (kind.is_char_device(), "c"),
        (bits & 0o1000 != 0, "t"),
    ];
    let mut out: String = letters.iter().filter(|(set, _)| *set).map(|(_, letter)| *letter).collect();
    if out.is_empty() {
        out.push('-');
    }
    for (n, letter) in "rwxrwxrwx".chars().enumerate() {
        out.push(if bits >> (8 - n) & 1 == 1 { letter } else { '-' });
    }
    out
}

/// The content type, detected from the beginning of the content.
fn content_type(start: &[u8]) -> &'static str {
    let signatures: [(&[u8], &str); 7] = [
        (b"%PDF-", "application/pdf"),
        (b"\x89PNG\r\n\x1a\n", "image/png"),
        (b"GIF8", "image/gif"),
        (b"\xff\xd8\xff", "image/jpeg"),
        (b"PK\x03\x04", "application/zip"),
        (b"\x1f\x8b\x08", "application/x-gzip"),
        (b"<!DOCTYPE HTML", "text/html; charset=utf-8"),
    ];
    if let Some((_, kind)) = signatures.iter().find(|(s, _)| start.starts_with(s)) {
        return kind;
    }
    let binary = |b: &u8| matches!(b, 0..=8 | 0x0b | 0x0e..=0x1a | 0x1c..=0x1f);
    if start.iter().any(binary) { "application/octet-stream" } else { "text/plain; charset=utf-8" }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::TempDir;

    fn tree() -> (TempDir, AllocFiles) {
        let dir = TempDir::new("files");
        for d in ["alloc/logs", "t/secrets", "t/local"] {
            std::fs::create_dir_all(dir.path().join(d)).unwrap();
        }
        std::fs::write(dir.path().join("alloc/logs/a"), "hello").unwrap();
        std::fs::write(dir.path().join("t/secrets/key"), "s").unwrap();
        std::os::unix::fs::symlink("/etc", dir.path().join("t/local/out")).unwrap();
        std::os::unix::fs::symlink("../secrets/key", dir.path().join("t/local/key")).unwrap();
        let files = AllocFiles::new(dir.path().to_path_buf());
        (dir, files)
    }

    #[test]
    fn lists_and_entries() {
        let (dir, files) = tree();
        let names: Vec<_> = files.list("/").unwrap().into_iter().map(|f| (f.name, f.is_dir)).collect();
        assert_eq!(names, [("alloc".to_string(), true), ("t".to_string(), true)]);
        let one = files.stat("alloc/logs/a").unwrap();
        assert_eq!((one.name.as_str(), one.size, one.content_type.as_str()), ("a", 5, "text/plain; charset=utf-8"));
        assert!(one.file_mode.starts_with("-rw"), "{}", one.file_mode);
        assert_eq!(files.stat("t/secrets/key").unwrap().size, 1, "looking at it is allowed");
        let missing = format!("stat {}/nope: no such file or directory", dir.path().display());
        assert_eq!(files.stat("/nope"), Err(ClientError::NotFound(missing)));
        assert!(files.list("/nope").unwrap_err().to_string().starts_with("open /"));
        std::fs::set_permissions(dir.path().join("t"), std::fs::Permissions::from_mode(0o1777)).unwrap();
        assert_eq!(files.stat("t").unwrap().file_mode, "dtrwxrwxrwx");
    }

    #[tokio::test]
    async fn nothing_outside_and_no_secrets() {
        let (_dir, files) = tree();
        let error = async |path: &str| files.read(path, 0, 0).await.err().map(|e| e.to_string()).unwrap_or_default();
        assert_eq!(error("../../..").await, "Path escapes the alloc directory");
        assert_eq!(error("t/local/out/passwd").await, "Path escapes the alloc directory");
        assert_eq!(error("t/secrets/key").await, "Reading secret file prohibited: t/secrets/key");
        assert_eq!(error("t/local/key").await, "Reading secret file prohibited: t/local/key");
        assert_eq!(error("/alloc").await, "file \"/alloc\" is a directory");
        let mut text = String::new();
        files.read("alloc/logs/a", 1, 3).await.unwrap().read_to_string(&mut text).await.unwrap();
        assert_eq!(text, "ell");
        files.read("alloc/logs/a", 99, 3).await.unwrap().read_to_string(&mut text).await.unwrap();
        assert_eq!(text, "ell", "nothing behind the end");
    }
}

//! Paths, sources and results of templates. Inside the sandbox no path leads out of the allocation's directory, and no
//! result is written through a link.

use std::io::Read;
use std::path::{Path, PathBuf};

use super::TemplateError;
use crate::alloc_dir::AllocDir;
use crate::directory::{Directory, Links, PathError, joined};

/// The longest source or file that a template reads, in bytes.
pub(crate) const MAX_FILE: u64 = 1 << 20;

/// Where a task has its files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Place {
    /// The directory of the allocation.
    pub dirs: AllocDir,
    /// The task.
    pub task: String,
    /// The task sees a file system of its own, with `/alloc`, `/local` and `/secrets`.
    pub isolated: bool,
    /// Paths may lead anywhere on the host.
    pub free: bool,
}

/// A file of a template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Target {
    /// Below the allocation's directory.
    Inside(PathBuf),
    /// Anywhere on the host.
    Free(PathBuf),
}

impl Place {
    /// The file that a path means: relative to the task's directory, or absolute as the host or the task sees it.
    /// `None`: outside of the allocation's directory.
    pub(crate) fn target(&self, path: &str) -> Option<Target> {
        let given = Path::new(path);
        let root = self.dirs.root();
        if self.free {
            let path = if given.is_absolute() { given.into() } else { self.dirs.task(&self.task).join(given) };
            return Some(Target::Free(path));
        }
        let inside = given.strip_prefix(&root).ok().map(Path::to_path_buf);
        let inside = inside.unwrap_or_else(|| {
            let below = given.strip_prefix("/").unwrap_or(given);
            let shared = self.isolated && given.is_absolute() && below.starts_with("alloc");
            if shared { below.into() } else { Path::new(&self.task).join(below) }
        });
        let out = joined(PathBuf::new(), &inside)?;
        // The agent's own part of a task's directory is no task's business.
        let private = out.components().nth(1).is_some_and(|c| c.as_os_str() == "private") && !out.starts_with("alloc");
        (out.components().count() > 1 && !private).then_some(Target::Inside(out))
    }

    /// Reads a file; `None` if it is longer than `most` bytes, or no text.
    pub(crate) fn read(&self, target: &Target, most: u64) -> Result<Option<String>, PathError> {
        let file = match target {
            Target::Inside(path) => {
                let (file, real) = self.dirs.open()?.open_file(path, Links::Inside)?;
                let private = real.components().nth(1).is_some_and(|c| c.as_os_str() == "private");
                if private && !real.starts_with("alloc") {
                    return Err(PathError::Escapes);
                }
                file
            }
            Target::Free(path) => {
                let (dir, name) = split(path)?;
                Directory::open(dir)?.open_file(name, Links::Inside).map(|(file, _)| file)?
            }
        };
        let mut bytes = Vec::new();
        file.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
        Ok(if bytes.len() as u64 > most { None } else { String::from_utf8(bytes).ok() })
    }

    /// Writes a file, in place of what has the name.
    pub(crate) fn write(
        &self,
        target: &Target,
        text: &str,
        mode: u32,
        owner: Option<(u32, u32)>,
    ) -> Result<(), PathError> {
        match target {
            Target::Inside(path) => self.dirs.open()?.replace(path, text.as_bytes(), mode, owner),
            Target::Free(path) => {
                let (dir, name) = split(path)?;
                std::fs::create_dir_all(dir)?;
                Directory::open(dir)?.replace(name, text.as_bytes(), mode, owner)
            }
        }
    }

    /// The text of a template's source.
    pub(crate) fn source(&self, path: &str) -> Result<String, TemplateError> {
        let target = self.target(path).ok_or(TemplateError::SourceEscapes)?;
        let text = self.read(&target, MAX_FILE).map_err(|source| match source {
            PathError::Escapes => TemplateError::SourceEscapes,
            source => TemplateError::Source { path: path.into(), source },
        })?;
        text.ok_or_else(|| TemplateError::NoText(path.into()))
    }
}

fn split(path: &Path) -> Result<(&Path, &Path), PathError> {
    match (path.parent(), path.file_name()) {
        (Some(dir), Some(name)) => Ok((dir, Path::new(name))),
        _ => Err(PathError::IsDirectory),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::testing::TempDir;

    fn place(dir: &TempDir) -> Place {
        let dirs = AllocDir::new(dir.path(), "a");
        dirs.build().unwrap();
        dirs.build_task("t").unwrap();
        Place { dirs, task: "t".into(), isolated: false, free: false }
    }

    #[test]
    fn paths() {
        let dir = TempDir::new("template-paths");
        let place = place(&dir);
        let inside = |path: &str| match place.target(path) {
            Some(Target::Inside(path)) => Some(path.display().to_string()),
            _ => None,
        };
        let own = dir.path().join("a/t/local/x").display().to_string();
        for (path, want) in [
            ("local/x", Some("t/local/x")),
            ("../alloc/data/x", Some("alloc/data/x")),
            ("/local/./x", Some("t/local/x")),
            (own.as_str(), Some("t/local/x")),
            ("/etc/passwd", Some("t/etc/passwd")),
            ("../../x", None),
            ("local/../../../x", None),
            ("../x", None),
            ("private/x", None),
            ("", None),
        ] {
            assert_eq!(inside(path).as_deref(), want, "{path}");
        }
        let isolated = Place { isolated: true, ..place.clone() };
        assert_eq!(isolated.target("/alloc/data/x"), Some(Target::Inside("alloc/data/x".into())));
        let free = Place { free: true, ..place.clone() };
        assert_eq!(free.target("/etc/x"), Some(Target::Free("/etc/x".into())));
    }

    #[test]
    fn links_lead_nowhere() {
        let dir = TempDir::new("template-links");
        let outside = TempDir::new("template-outside");
        let place = place(&dir);
        std::fs::write(outside.path().join("secret"), "s").unwrap();
        let local = place.dirs.task("t").join("local");
        symlink(outside.path(), local.join("out")).unwrap();
        symlink(outside.path().join("secret"), local.join("link")).unwrap();
        std::fs::write(local.join("own"), "own").unwrap();
        symlink("own", local.join("near")).unwrap();
        assert_eq!(place.source("local/near").unwrap(), "own");
        for path in ["local/out/secret", "local/link"] {
            assert!(matches!(place.source(path), Err(TemplateError::SourceEscapes)), "{path}");
        }
        let target = place.target("local/out/new").unwrap();
        assert!(place.write(&target, "x", 0o644, None).is_err());
        assert!(!outside.path().join("new").exists());
        // A link with the name of the result is replaced, not followed.
        place.write(&place.target("local/link").unwrap(), "x", 0o600, None).unwrap();
        assert_eq!(std::fs::read_to_string(outside.path().join("secret")).unwrap(), "s");
        assert_eq!(std::fs::read_to_string(local.join("link")).unwrap(), "x");
    }
}

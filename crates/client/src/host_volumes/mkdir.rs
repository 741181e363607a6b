//! The built-in plugin `mkdir`: a directory per volume (`docs/spec/client.md §4.6.1`).

use std::collections::BTreeMap;
use std::io;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::Path;

use super::operation::PluginError;

/// The default mode of a directory.
const DEFAULT_MODE: u32 = 0o700;

/// The permissions of a directory.
#[derive(Debug, PartialEq, Eq)]
struct Access {
    mode: u32,
    uid: Option<u32>,
    gid: Option<u32>,
}

impl Access {
    /// Reads the parameters of the plugin: `mode` in octal digits, `uid`, `gid`.
    fn parse(parameters: &BTreeMap<String, String>) -> Result<Access, PluginError> {
        let bad = |name, value: &str| PluginError::Parameter { name, value: value.into() };
        let id = |name| match parameters.get(name).map(String::as_str) {
            None | Some("" | "-1") => Ok(None),
            Some(text) => text.parse::<u32>().map(Some).map_err(|_| bad(name, text)),
        };
        let mode = match parameters.get("mode").map(String::as_str) {
            None | Some("") => DEFAULT_MODE,
            Some(text) => {
                u32::from_str_radix(text, 8).ok().filter(|m| *m <= 0o7777).ok_or_else(|| bad("mode", text))?
            }
        };
        Ok(Access { mode, uid: id("uid")?, gid: id("gid")? })
    }
}

/// Creates the directory of a volume; an existing one stays unchanged. One that cannot get its mode or owner is removed
/// again.
pub(super) fn create(path: &Path, parameters: &BTreeMap<String, String>) -> Result<(), PluginError> {
    let access = Access::parse(parameters)?;
    if path.is_dir() {
        return Ok(());
    }
    let failed = |source| PluginError::Io { what: "creating", path: path.into(), source };
    let above = path.parent().unwrap_or(path);
    std::fs::DirBuilder::new().recursive(true).mode(0o711).create(above).map_err(failed)?;
    std::fs::DirBuilder::new().mode(access.mode).create(path).map_err(failed)?;
    give(path, &access).map_err(|e| {
        let _ = std::fs::remove_dir(path);
        failed(e)
    })
}

fn give(path: &Path, access: &Access) -> io::Result<()> {
    // The mode of a new directory is subject to the umask.
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(access.mode))?;
    if access.uid.is_some() || access.gid.is_some() {
        std::os::unix::fs::chown(path, access.uid, access.gid)?;
    }
    Ok(())
}

/// Removes the directory of a volume with its content; one that is not there is no error.
pub(super) fn delete(path: &Path) -> Result<(), PluginError> {
    match std::fs::remove_dir_all(path) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => {
            Err(PluginError::Io { what: "removing", path: path.into(), source: e })
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::TempDir;

    fn parameters(list: &[(&str, &str)]) -> BTreeMap<String, String> {
        list.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect()
    }

    #[test]
    fn parameters_are_read() {
        let parse = |list: &[(&str, &str)]| Access::parse(&parameters(list)).map_err(|e| e.to_string());
        assert_eq!(parse(&[]), Ok(Access { mode: 0o700, uid: None, gid: None }));
        let all = parse(&[("mode", "0755"), ("uid", "12"), ("gid", "-1")]);
        assert_eq!(all, Ok(Access { mode: 0o755, uid: Some(12), gid: None }));
        for bad in [("mode", "rwx"), ("mode", "10000"), ("uid", "root"), ("gid", "-2")] {
            assert_eq!(parse(&[bad]), Err(format!("invalid value for {:?}: {:?}", bad.0, bad.1)));
        }
    }

    #[test]
    fn directories_have_the_mode_of_the_parameters_and_are_made_once() {
        let dir = TempDir::new("mkdir");
        let path = dir.path().join("volumes/a");
        create(&path, &parameters(&[("mode", "0750")])).unwrap();
        std::fs::write(path.join("data"), "x").unwrap();
        create(&path, &parameters(&[("mode", "0700")])).unwrap();
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o750);
        assert_eq!(std::fs::read(path.join("data")).unwrap(), b"x");
        delete(&path).unwrap();
        delete(&path).unwrap();
        assert!(!path.exists());
        std::fs::write(dir.path().join("file"), "").unwrap();
        let error = create(&dir.path().join("file/a"), &BTreeMap::new()).unwrap_err().to_string();
        assert!(error.starts_with("error creating"), "{error}");
    }
}

//! The destination of an artifact (`docs/spec/client.md §18`).

use std::path::{Path, PathBuf};

use super::order::STAGING;
use crate::directory::joined;

/// The path of a destination below the directory of the allocation; none if it leads out of it. Relative paths are those
/// of the task's directory; absolute ones too, unless they are in the directory of the allocation, as the variables of
/// the task's directories are.
pub(crate) fn destination(text: &str, alloc_dir: &Path, task: &str) -> Option<PathBuf> {
    let path = Path::new(text);
    let (base, rest) = match path.strip_prefix(alloc_dir) {
        Ok(rest) if path.is_absolute() => (PathBuf::new(), rest),
        _ => (PathBuf::from(task), path),
    };
    let out = joined(base, rest)?;
    let ours = out.iter().next().is_none_or(|first| !first.to_string_lossy().starts_with(STAGING));
    (ours && !text.contains('\0')).then_some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn destinations_stay_in_the_allocation() {
        for (text, want) in [
            ("local/", Some("t/local")),
            ("", Some("t")),
            ("./local/../x", Some("t/x")),
            ("../alloc/data", Some("alloc/data")),
            ("/x", Some("t/x")),
            ("/all/id/alloc/x", Some("alloc/x")),
            ("/all/id2", Some("t/all/id2")),
            ("../../x", None),
            ("/all/id/../x", None),
            ("local/../../../x", None),
            ("../.artifacts-t/x", None),
            ("a\0b", None),
        ] {
            assert_eq!(destination(text, Path::new("/all/id"), "t"), want.map(PathBuf::from), "{text}");
        }
    }
}

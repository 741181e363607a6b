//! Where the program itself is: agents start it again, to supervise tasks and to answer pages.

use std::io;
use std::path::{Path, PathBuf};

/// The file of the program that runs.
///
/// # Errors
/// The kernel does not say (`/proc` is not mounted, as in an empty root), and neither does the name by which the program
/// was started.
pub fn path() -> io::Result<PathBuf> {
    std::env::current_exe().or_else(|unknown| {
        let name = std::env::args_os().next();
        name.and_then(|name| started_as(Path::new(&name))).ok_or(unknown)
    })
}

/// The file of a program that was started by this name; none for a name that was searched in `PATH`.
fn started_as(name: &Path) -> Option<PathBuf> {
    let path = std::path::absolute(name).ok()?;
    (name.components().count() > 1 && path.is_file()).then_some(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_with_a_directory_lead_to_the_file() {
        let own = std::env::current_exe().expect("the kernel says");
        assert_eq!(path().expect("known"), own);
        assert_eq!(started_as(&own), Some(own.clone()));
        assert_eq!(started_as(Path::new("encamp")), None, "it may be any of that name");
        assert_eq!(started_as(Path::new("/nowhere/encamp")), None);
        assert_eq!(started_as(own.parent().expect("a directory")), None);
    }
}

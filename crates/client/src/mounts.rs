//! The mounted file systems of the host.

use procfs::MountEntry;

/// The mounted file systems; none if they can't be read.
pub fn mounts() -> Vec<MountEntry> {
    let mut mounts = procfs::mounts().unwrap_or_default();
    for mount in &mut mounts {
        // The crate decodes all escapes but those of spaces.
        mount.fs_spec = mount.fs_spec.replace("\\040", " ");
        mount.fs_file = mount.fs_file.replace("\\040", " ");
    }
    mounts
}

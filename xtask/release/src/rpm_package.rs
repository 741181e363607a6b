//! A package of Fedora, openSUSE and their relatives.

use std::path::Path;

use rpm::{BuildConfig, CompressionType, Dependency, FileOptions, PackageBuilder};

use crate::archive::with_directories;
use crate::contents::{Content, Entry};
use crate::failure::{Failure, Outcome, read_text};
use crate::release::Facts;

/// The package.
///
/// # Errors
/// A script is missing, or the library refuses an entry.
pub(crate) fn package(root: &Path, facts: &Facts, entries: &[Entry]) -> Outcome<Vec<u8>> {
    let script = |name: &str| read_text(&root.join("packaging/rpm").join(name));
    let epoch = u32::try_from(facts.epoch).map_err(|_| Failure::Form("SOURCE_DATE_EPOCH is too large".into()))?;
    let config = BuildConfig::default().compression(CompressionType::Gzip).source_date(epoch);
    let mut builder = PackageBuilder::new("encamp", &facts.version, "MPL-2.0", facts.architecture.rpm, &facts.summary);
    builder.using_config(config).release("1").description(&facts.description).build_host("encamp");
    builder.requires(Dependency::any("shadow-utils"));
    builder.post_install_script(script("post")?);
    builder.pre_uninstall_script(script("preun")?);
    builder.post_uninstall_script(script("postun")?);
    for entry in with_directories(entries.to_vec()) {
        let path = format!("/{}", entry.path);
        let mode = u16::try_from(entry.mode).unwrap_or(0o644);
        match entry.content {
            // Others belong to the base system.
            Content::Directory if !path.contains("encamp") => {}
            Content::Directory => {
                builder.with_dir_entry(FileOptions::dir(path).permissions(mode))?;
            }
            Content::File(bytes) => {
                let options = FileOptions::new(path).permissions(mode);
                let options = if entry.configuration { options.config().noreplace() } else { options };
                builder.with_file_contents(bytes, options)?;
            }
        }
    }
    let mut out = Vec::new();
    builder.build()?.write(&mut out)?;
    Ok(out)
}

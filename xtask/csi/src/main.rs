//! Writes `crates/csi/src/generated/csi.v1.rs` from `crates/csi/proto/csi.proto`; `cargo xtask csi` runs it.
//!
//! protox parses the file, so that no `protoc` is needed. The program is not a part of `xtask`, which depends on the
//! standard library alone.

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// The services that encamp calls. The others, such as group snapshots, are left out.
const SERVICES: [&str; 3] = ["Identity", "Controller", "Node"];

fn crate_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../crates/csi")
}

fn target() -> PathBuf {
    crate_folder().join("src/generated/csi.v1.rs")
}

/// Generates the code into a folder; gives the text.
fn generate(folder: &Path) -> Result<String, Box<dyn Error>> {
    let proto = crate_folder().join("proto");
    let mut files = protox::compile(["csi.proto"], [&proto])?;
    for file in &mut files.file {
        file.service.retain(|s| SERVICES.contains(&s.name()));
        // Comments are those of the specification; the generated code would repeat them.
        file.source_code_info = None;
    }
    tonic_prost_build::configure()
        .btree_map(".")
        .build_transport(false)
        // A plugin writes the calls it has; the others are `UNIMPLEMENTED`.
        .generate_default_stubs(true)
        .emit_rerun_if_changed(false)
        .out_dir(folder)
        .server_mod_attribute(".", "#[cfg(any(test, feature = \"server\"))]")
        // Messages contain secrets.
        .skip_debug(["."])
        .compile_fds(files)?;
    Ok(fs::read_to_string(folder.join("csi.v1.rs"))?)
}

/// Generates the code into a new temporary folder; gives the text.
fn generated() -> Result<String, Box<dyn Error>> {
    let folder = std::env::temp_dir().join(format!("encamp-csi-{}", std::process::id()));
    fs::create_dir_all(&folder)?;
    let text = generate(&folder);
    fs::remove_dir_all(&folder)?;
    text
}

fn main() -> ExitCode {
    let target = target();
    let written = generated().and_then(|text| Ok(fs::write(&target, text)?));
    match written {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            eprintln!("error: {}: {e}", target.display());
            ExitCode::FAILURE
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_committed_code_is_up_to_date() {
        let committed = fs::read_to_string(target()).unwrap();
        assert!(committed == generated().unwrap(), "run `cargo xtask csi`");
    }
}

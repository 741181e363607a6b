//! Settings of downloads, as data (`docs/spec/agent-config.md §5.3`).

use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Settings of downloads: the `artifact` block of the client (`docs/spec/agent-config.md §5.3`). No value: no limit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArtifactConfig {
    /// How long a transfer over HTTP may take.
    pub http_read_timeout: Option<Duration>,
    /// How long a clone of a Git repository may take.
    pub git_timeout: Option<Duration>,
    /// How long a transfer from S3 may take.
    pub s3_timeout: Option<Duration>,
    /// The largest download, in bytes.
    pub max_size: Option<u64>,
    /// Bytes that an archive may unpack to.
    pub decompression_size: Option<u64>,
    /// Members that an archive may have.
    pub decompression_files: Option<u64>,
    /// Links that lead out of the artifact are refused.
    pub inspect: bool,
    /// The process that downloads reaches only a part of the file system.
    pub isolate: bool,
    /// What it reaches, too.
    pub extra_paths: Vec<ExtraPath>,
    /// Variables of the agent that it gets.
    pub variables: Vec<String>,
}

impl Default for ArtifactConfig {
    fn default() -> ArtifactConfig {
        const TIME: Option<Duration> = Some(Duration::from_secs(30 * 60));
        ArtifactConfig {
            http_read_timeout: TIME,
            git_timeout: TIME,
            s3_timeout: TIME,
            max_size: Some(100_000_000_000),
            decompression_size: Some(100_000_000_000),
            decompression_files: Some(4096),
            inspect: true,
            isolate: true,
            extra_paths: Vec::new(),
            variables: Vec::new(),
        }
    }
}

/// A path that the process may use, too.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExtraPath {
    pub(crate) path: PathBuf,
    pub(crate) read: bool,
    pub(crate) write: bool,
    pub(crate) create: bool,
    pub(crate) execute: bool,
}

/// A path of `filesystem_isolation_extra_paths` that is none.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} is not a path such as \"f:r:/dev/urandom\" or \"d:rx:/opt/bin\": kind (f or d), mode (any of r, w, c, x), path"
)]
pub struct ExtraPathError(String);

impl ExtraPath {
    /// Reads `kind:mode:path`.
    pub fn parse(text: &str) -> Result<ExtraPath, ExtraPathError> {
        let wrong = || ExtraPathError(text.into());
        let mut parts = text.splitn(3, ':');
        let (Some("f" | "d"), Some(mode), Some(path)) = (parts.next(), parts.next(), parts.next()) else {
            return Err(wrong());
        };
        if !mode.chars().all(|c| "rwcx".contains(c)) || !path.starts_with('/') {
            return Err(wrong());
        }
        let has = |c| mode.contains(c);
        Ok(ExtraPath { path: path.into(), read: has('r'), write: has('w'), create: has('c'), execute: has('x') })
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn extra_paths() {
        assert_eq!(ExtraPath::parse("f::/a:b").unwrap().path, Path::new("/a:b"));
        for wrong in ["", "/x", "x:r:/y", "f:q:/y", "f:r:y", "f:r"] {
            assert!(ExtraPath::parse(wrong).is_err(), "{wrong}");
        }
    }
}

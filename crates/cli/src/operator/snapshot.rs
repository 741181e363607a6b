//! `operator snapshot`: saves and restores the state of the servers (`docs/spec/cli.md §14`).

use std::fs::File;
use std::io::{self, Write};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use jiff::tz::TimeZone;
use sha2::{Digest, Sha256};

use crate::operator::redact::Redacted;
use crate::prelude::*;
use encamp_api::Query;
use encamp_api::stream::RawRequest;
use encamp_model::{SECOND, quoted};
use encamp_snapshot::replace::{make_private, replace};

const PATH: &str = "/v1/operator/snapshot";
/// The longest archive that is kept in memory.
const MAX_ARCHIVE: usize = 1 << 30;

/// Save a snapshot of the servers' state
///
/// Writes the full state of the servers to an archive: jobs, nodes, allocations, variables, keys. The archive allows
/// anyone to decrypt the variables, so the file is only readable by its owner. The default file name contains the
/// current time.
#[derive(Debug, clap::Parser)]
pub struct SnapshotSave {
    /// Allow any server to respond, even if there is no leader
    #[arg(long)]
    pub stale: bool,
    /// Remove the secrets, as "operator snapshot redact" does; the complete archive is never on disk
    #[arg(long)]
    pub redact: bool,
    #[command(flatten)]
    pub(crate) general: GeneralFlags,
    #[arg(value_name = "file", add = CompleteWith::DIRECTORIES)]
    pub(crate) optional_args: Vec<String>,
}

impl Run for SnapshotSave {
    const META: Meta = Meta::new("operator snapshot save").flag_error_note(FlagErrorNote::Args).examples(&[
        ("Save the state of the servers", "encamp operator snapshot save backup.snap"),
        ("Save it even if there is no leader", "encamp operator snapshot save -stale stale.snap"),
        ("Save it without its secrets", "encamp operator snapshot save -redact shared.snap"),
    ]);

    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        let name = match self.optional_args.as_slice() {
            [] => default_name(context.env.now, &context.env.zone()),
            [name] => name.clone(),
            _ => return context.usage_error("This command takes either no arguments or one: <file>"),
        };
        let path = context.env.directory.join(&name);
        if path.symlink_metadata().is_ok() {
            return context.usage_error(&format!("Destination file already exists: {}", quoted(&name)));
        }
        context.connected(&self.general, |c, context| {
            let query = if self.stale { Query::default().with("stale", "") } else { Query::default() };
            let now = context.env.now;
            let write = |file: &mut File| {
                make_private(file)?;
                if !self.redact {
                    return receive(c, &query, file);
                }
                let mut archive = Bounded(Vec::new());
                receive(c, &query, &mut archive)?;
                Redacted::of(archive.0.as_slice())?.write(now, file)
            };
            replace(&path, write).context("Failed to get snapshot file")?;
            context.ui.output(&format!("State file written to {name}"));
            Ok(0)
        })
    }
}

/// `nomad-state-2026111-1795240306.snap`: the day is not padded with a zero.
fn default_name(now: i64, zone: &TimeZone) -> String {
    let seconds = now.div_euclid(SECOND);
    let date = jiff::Timestamp::from_second(seconds).unwrap_or_default().to_zoned(zone.clone());
    format!("nomad-state-{:04}{:02}{}-{seconds}.snap", date.year(), date.month(), date.day())
}

/// An archive in memory, as long as servers accept one at most.
struct Bounded(Vec<u8>);

impl Write for Bounded {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.0.len().saturating_add(bytes.len()) > MAX_ARCHIVE {
            let text = format!("the archive has more than {} MiB: save it without -redact", MAX_ARCHIVE >> 20);
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, text));
        }
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Receives the archive and compares its digest with the one in the response.
fn receive(c: &Connection, query: &Query, to: &mut impl Write) -> io::Result<()> {
    c.wait(async {
        let mut stream = c.client.stream(PATH, query, false).await.map_err(io::Error::other)?;
        let digest = stream.header("digest");
        let mut hash = Sha256::new();
        while let Some(bytes) = stream.next().await.map_err(io::Error::other)? {
            hash.update(&bytes);
            to.write_all(&bytes)?;
        }
        let own = format!("sha-256={}", STANDARD.encode(hash.finalize()));
        match digest {
            Some(digest) if digest != own => {
                Err(io::Error::other("the received archive is damaged: the digest differs"))
            }
            _ => Ok(()),
        }
    })
}

/// Restore a snapshot of the servers' state
///
/// Replaces the state of the servers by a saved archive. The servers verify the archive first; a damaged archive
/// changes nothing. All changes since the archive was saved are lost.
#[derive(Debug, clap::Parser)]
pub struct SnapshotRestore {
    #[command(flatten)]
    pub(crate) general: GeneralFlags,
    #[arg(value_name = "file", add = CompleteWith::ANY_FILE)]
    pub(crate) name: String,
}

impl Run for SnapshotRestore {
    const META: Meta = Meta::new("operator snapshot restore").flag_error_note(FlagErrorNote::Args).examples(&[
        ("Replace the state of the servers by a saved archive", "encamp operator snapshot restore backup.snap"),
        (
            "Restore it with the token of an administrator",
            "encamp operator snapshot restore -token $ADMIN_TOKEN backup.snap",
        ),
    ]);

    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        let body = match std::fs::read(context.env.directory.join(&self.name)) {
            Ok(body) => body,
            Err(e) => return context.failure(&format!("Error opening snapshot file: {e}")),
        };
        let request = RawRequest { method: "PUT".into(), path: PATH.into(), body: Some(body), ..RawRequest::default() };
        context.connected(&self.general, |c, context| {
            let done = c.wait(c.client.accepted(&request, true));
            done.context("Failed to restore snapshot")?;
            context.ui.output("Snapshot Restored");
            Ok(0)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_day_and_second() {
        let name = |now| default_name(now, &TimeZone::UTC);
        assert_eq!(name(1_795_240_306_140_334_823), "nomad-state-20261121-1795240306.snap");
        assert_eq!(name(1_793_577_600_000_000_000), "nomad-state-2026112-1793577600.snap");
    }
}

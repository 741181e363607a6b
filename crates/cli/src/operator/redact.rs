//! `operator snapshot redact`: removes the secrets of an archive (`docs/spec/cli.md §14`,
//! `docs/spec/snapshot-archive.md §14.1`).

use std::fs::File;
use std::io::{self, Read, Write};

use crate::prelude::*;
use encamp_host::ids;
use encamp_model::SECOND;
use encamp_server::storage::persist;
use encamp_snapshot::archive::{self, Undecoded};
use encamp_snapshot::replace::replace;

use crate::job_file::cause;

/// Remove the secrets from an archive of the servers' state
///
/// Removes from an archive of "operator snapshot save", of encamp's servers or of Nomad's: root keys, the content of
/// variables, secret IDs of ACL tokens and nodes, identities of workloads, secrets of storage volumes and of auth methods,
/// and the values of variables that were submitted with jobs. Replaces the file; the result is an archive with new
/// checksums. Jobs stay as they are, with the environment and templates of their tasks; "snapshot anonymize" hides these
/// too.
///
/// After a restore of such an archive, no token and no node of the cluster is accepted, and "operator root keyring rotate
/// -now" has to make a new key.
#[derive(Debug, clap::Parser)]
pub struct ArchiveRedact {
    #[arg(value_name = "<file>", add = CompleteWith::ANY_FILE)]
    pub(crate) name: String,
}

impl Run for ArchiveRedact {
    const META: Meta = Meta::new("operator snapshot redact").flag_error_note(FlagErrorNote::Args).examples(&[
        (
            "Remove the secrets from a copy of an archive",
            "cp backup.snap support.snap &&\n    encamp operator snapshot redact support.snap",
        ),
        (
            "Do it and show what the copy contains",
            "cp backup.snap copy.snap && encamp operator snapshot redact copy.snap &&\n    encamp operator snapshot \
             inspect copy.snap",
        ),
    ]);

    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        let redacted = redact_file(&self.name, context);
        context.print(redacted.map(|()| "Snapshot redacted".to_string()))
    }
}

fn redact_file(name: &str, context: &Context<'_, '_>) -> CommandResult<()> {
    let path = context.env.directory.join(name);
    let file = File::open(&path)
        .map_err(|e| CommandError::new(format!("Error opening snapshot file: open {name}: {}", cause(&e))))?;
    let redacted = Redacted::of(file).context("Error reading snapshot file")?;
    let now = context.env.now;
    replace(&path, |file| redacted.write(now, file)).context("Error writing snapshot file")?;
    Ok(())
}

/// What an archive holds without its secrets.
pub(super) struct Redacted(Undecoded);

impl Redacted {
    /// Reads an archive, checks it, and leaves out its secrets.
    ///
    /// # Errors
    /// It cannot be read, it is damaged, or it has records of a kind that this program does not know.
    pub(super) fn of(archive: impl Read) -> io::Result<Redacted> {
        let mut content = archive::read_undecoded(archive).map_err(io::Error::other)?;
        content.state = if persist::is_snapshot(&content.state) {
            let mut state = Vec::with_capacity(content.state.len());
            persist::redact(&mut content.state.as_slice(), &mut state, &mut ids::uuid)?;
            state
        } else {
            archive::redact(&content.state, &mut ids::uuid).map_err(io::Error::other)?
        };
        Ok(Redacted(content))
    }

    /// Writes it as an archive; `now` is in Unix nanoseconds. Its description, and so the time that it is from, stays.
    ///
    /// # Errors
    /// It cannot be written.
    pub(super) fn write(self, now: i64, to: impl Write) -> io::Result<()> {
        let seconds = u64::try_from(now.div_euclid(SECOND)).unwrap_or(0);
        archive::write(self.0.members, &self.0.state, seconds, to)
    }
}

//! The disk of an allocation that moves to another node (`docs/spec/client.md §9.3`): a tar archive of `alloc/data` and of
//! the tasks' `local`.
//!
//! [`pack`]: makes the archive, on the node that has the disk. [`unpack`]: checks and unpacks it, on the node that gets
//! the disk. [`pipe`]: its bytes between the threads that do so and the connection.

pub(crate) mod pack;
pub(crate) mod pipe;
pub(crate) mod unpack;

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::error::Error;
use std::fmt::Debug;
use std::io;
use std::path::{Component, Path, PathBuf};
use std::time::Duration;

use futures_util::future::BoxFuture;
use futures_util::stream::BoxStream;

use super::artifacts::archive::UnpackError;
use super::directory::PathError;
use super::servers::ServersError;
use encamp_model::PreviousDisk;

/// How long a transfer may stand still.
pub(crate) const STALL: Duration = Duration::from_secs(60);
/// Most members of an archive.
pub(crate) const MOST_MEMBERS: u64 = 1_000_000;
/// What the archive may have for each member beside contents: headers, long names, padding.
pub(crate) const OVERHEAD: u64 = 4 << 10;
/// How many disks the agent of a node sends at a time.
pub(crate) const AT_ONCE: usize = 32;
/// How long a request waits for its turn, if so many are being sent; shorter than its sender waits for the answer.
pub(crate) const TURN: Duration = Duration::from_secs(40);

/// Bytes of an archive as they come; an error ends them.
pub type DiskBytes = BoxStream<'static, Result<Vec<u8>, ReadError>>;

/// Reads the disks of allocations from the agents of other nodes.
pub trait DiskReads: Debug + Send + Sync {
    /// The archive of a disk.
    fn read<'a>(&'a self, disk: &'a PreviousDisk) -> BoxFuture<'a, Result<DiskBytes, ReadError>>;
}

/// Why the agent of another node did not send a disk.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct ReadError(#[from] pub Box<dyn Error + Send + Sync>);

/// Why a disk was not moved to this node. The allocation starts with an empty one.
#[derive(Debug, thiserror::Error)]
pub(crate) enum DiskError {
    /// The servers know no node to read it from.
    #[error("its node is not ready, or does not have the allocation any more")]
    NoNode,
    /// The servers did not say where it is.
    #[error("the servers did not say where it is: {0}")]
    Servers(#[from] ServersError),
    /// This agent cannot read from others.
    #[error("this agent does not read from others")]
    NoReads,
    /// The other agent cannot be reached, or refused.
    #[error("failed to read it from its node: {0}")]
    Read(#[from] ReadError),
    /// Nothing came for too long.
    #[error("its node has sent nothing for {} s", STALL.as_secs())]
    Stalled,
    /// The other agent could not read all of it, and said so.
    #[error("its node could not read all of it: {0}")]
    Remote(String),
    /// It is larger than the disk of the group.
    #[error("it is larger than the {0} MiB of ephemeral_disk.size")]
    TooLarge(u64),
    /// It has too many entries.
    #[error("it has more than {MOST_MEMBERS} entries")]
    TooMany,
    /// A link leads out of the disk.
    #[error("it has a symbolic link {0:?} that leads out of it")]
    Link(String),
    /// A user or a mode of a member is no number.
    #[error("it has a member {0:?} without a valid owner and mode")]
    Owner(String),
    /// The archive ends too early.
    #[error("the archive is cut off")]
    CutOff,
    /// The archive is not valid.
    #[error(transparent)]
    Archive(#[from] UnpackError),
    /// It was not written to its place.
    #[error("failed to write it: {0}")]
    Write(#[from] io::Error),
    /// A directory is not there.
    #[error("failed to write it: {0}")]
    Path(#[from] PathError),
}

/// The member with which the sender of an archive reports that it could not read all of the disk.
pub(crate) fn error_member(alloc_id: &str) -> String {
    format!("NOMAD-{alloc_id}-ERROR.log")
}

/// A part of the disk that is moved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    /// `alloc/data`, or `local` of a task, itself.
    Root,
    /// Something in it.
    Below,
}

/// Which part of the disk a path of the archive is; none: it is not moved.
pub(crate) fn part(path: &Path, tasks: &BTreeSet<String>) -> Option<Part> {
    let mut names = path.components().filter_map(|part| match part {
        Component::Normal(name) => Some(name),
        Component::Prefix(_) | Component::RootDir | Component::CurDir | Component::ParentDir => None,
    });
    let (owner, kind) = (names.next()?.to_str()?, names.next()?.to_str()?);
    let moved = (owner == "alloc" && kind == "data") || (kind == "local" && tasks.contains(owner));
    moved.then(|| if names.next().is_some() { Part::Below } else { Part::Root })
}

/// The directories of the disk that are moved.
pub(crate) fn roots(tasks: &BTreeSet<String>) -> impl Iterator<Item = PathBuf> {
    let of_task = tasks.iter().map(|task| Path::new(task).join("local"));
    std::iter::once(PathBuf::from("alloc/data")).chain(of_task)
}

//! The hook `migrate_disk`: an allocation takes over the disk of its predecessor, on this node or from another one
//! (`docs/spec/client.md §9.3`). Whatever goes wrong, it starts, with an empty disk then.

use std::collections::BTreeSet;
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use futures_util::StreamExt;
use tokio::sync::mpsc;

use super::alloc::AllocRunner;
use super::error::PrerunError;
use crate::disk::pipe::{Piece, Receiver};
use crate::disk::unpack::{Wanted, unpack};
use crate::disk::{DiskBytes, DiskError, STALL};
use crate::policy::gc;
use encamp_model::PreviousDisk;

/// How long the servers are asked where the disk is, and how often.
const ASK: Duration = Duration::from_secs(30);
const ASK_AGAIN: Duration = Duration::from_secs(2);
/// The same while they answer that it is nowhere: its node may be missing for a moment.
const ASK_ABSENT: Duration = Duration::from_secs(10);
/// The size of a disk whose group has none, in MiB.
const DEFAULT_SIZE: u64 = 300;

/// Whether an allocation can go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Disk {
    /// It has its disk, with the data or without.
    Ready,
    /// It is to end, or the agent ends: the next run of the agent begins again.
    GivenUp,
}

impl AllocRunner {
    /// Takes over the disk of the predecessor, if the group of the allocation is sticky. `previous`: the predecessor on
    /// this node.
    pub(super) async fn take_disk(self: &Arc<Self>, previous: Option<&AllocRunner>) -> Result<Disk, PrerunError> {
        if self.disk_taken.load(Ordering::Relaxed) {
            return Ok(Disk::Ready);
        }
        let Some(awaited) = self.awaited_disk() else {
            self.disk_taken.store(true, Ordering::Relaxed);
            return Ok(Disk::Ready);
        };
        let begin = Instant::now();
        let taken = match previous.filter(|p| p.id == awaited) {
            Some(previous) => self.take_local(previous).await,
            None if gc::migrates(&self.alloc()) => self.take_remote(&awaited).await,
            None => Ok(Disk::Ready),
        };
        self.shared.hook("alloc_hook.prerun", "migrate_disk", &self.alloc(), begin, taken.is_ok());
        match taken {
            Ok(Disk::GivenUp) => return Ok(Disk::GivenUp),
            Ok(Disk::Ready) => {}
            Err(error) => {
                tracing::warn!(target: "client.alloc_runner", alloc_id = self.id, previous = awaited, %error, "failed to take over the previous disk");
                let dirs = self.dirs.clone();
                let again = move || dirs.destroy().map_err(io::Error::from).and_then(|()| dirs.build());
                on_thread(again).await.map_err(PrerunError::MigrateDisk)?;
            }
        }
        self.disk_taken.store(true, Ordering::Relaxed);
        // A task must not run before: after a restart of the agent, its data would be replaced.
        self.persist().await;
        self.shared.collect.notify_one();
        Ok(Disk::Ready)
    }

    fn task_names(&self) -> Vec<String> {
        self.tasks.iter().map(|t| t.name.clone()).collect()
    }

    async fn take_local(&self, previous: &AllocRunner) -> Result<Disk, DiskError> {
        let (dirs, from, names) = (self.dirs.clone(), previous.dirs.clone(), self.task_names());
        on_thread(move || dirs.take_over(&from, &names)).await?;
        previous.disk_was_given();
        Ok(Disk::Ready)
    }

    /// Reads the disk from the agent of another node.
    async fn take_remote(self: &Arc<Self>, previous: &str) -> Result<Disk, DiskError> {
        let (mut stopping, mut going) = (self.stopping.subscribe(), self.shutdown_signal());
        let mut given_up = std::pin::pin!(async move {
            tokio::select! {
                _ = stopping.wait_for(|s| *s) => {}
                _ = going.wait_for(|s| *s) => {}
            }
        });
        let opened = tokio::select! {
            opened = self.open_remote(previous) => opened?,
            () = &mut given_up => return Ok(Disk::GivenUp),
        };
        let dirs = self.dirs.clone();
        let arrivals = on_thread(move || dirs.arrivals()).await?;
        let wanted = Wanted::of(previous, self.task_names().into_iter().collect::<BTreeSet<_>>(), self.disk_size());
        let (to, mut receiver) = Receiver::new(wanted.archive_bytes());
        let into = arrivals.clone();
        let unpacking = tokio::task::spawn_blocking(move || {
            unpack(&mut receiver, &into, &wanted)?;
            if receiver.is_complete() { Ok(()) } else { Err(DiskError::CutOff) }
        });
        let received = tokio::select! {
            received = receive(opened, to) => Some(received),
            () = &mut given_up => None,
        };
        // The thread ends with what it reads from: nothing is written to the directory after this.
        let unpacked = unpacking.await.map_err(io::Error::other)?;
        let Some(received) = received else { return Ok(Disk::GivenUp) };
        received.and(unpacked)?;
        let (dirs, names) = (self.dirs.clone(), self.task_names());
        on_thread(move || dirs.take_arrivals(&arrivals, &names)).await?;
        tracing::info!(target: "client.alloc_runner", alloc_id = self.id, previous, "the previous disk was moved to this node");
        Ok(Disk::Ready)
    }

    async fn open_remote(&self, previous: &str) -> Result<DiskBytes, DiskError> {
        let reads = self.shared.services.disk_reads.as_ref().ok_or(DiskError::NoReads)?;
        let disk = self.find_remote().await?.filter(|disk| disk.alloc_id == previous).ok_or(DiskError::NoNode)?;
        let opened = tokio::time::timeout(STALL, reads.read(&disk)).await.map_err(|_| DiskError::Stalled)?;
        Ok(opened?)
    }

    /// Asks the servers where the disk is.
    async fn find_remote(&self) -> Result<Option<PreviousDisk>, DiskError> {
        let begin = Instant::now();
        loop {
            let who = self.shared.who();
            match self.shared.services.servers.previous_disk(&who, &self.id).await {
                Ok(Some(disk)) => return Ok(Some(disk)),
                Ok(None) if begin.elapsed() >= ASK_ABSENT => return Ok(None),
                Err(error) if begin.elapsed() >= ASK => return Err(error.into()),
                Ok(None) | Err(_) => tokio::time::sleep(ASK_AGAIN).await,
            }
        }
    }

    /// The size of the disk of the allocation, in MiB.
    fn disk_size(&self) -> u64 {
        let alloc = self.alloc();
        let size = alloc.group().and_then(|g| g.ephemeral_disk.as_ref()).map(|disk| disk.size_mb);
        size.and_then(|mb| u64::try_from(mb).ok()).filter(|mb| *mb > 0).unwrap_or(DEFAULT_SIZE)
    }
}

/// Hands what a connection brings to the thread that unpacks it.
async fn receive(mut bytes: DiskBytes, to: mpsc::Sender<Piece>) -> Result<(), DiskError> {
    loop {
        let next = tokio::time::timeout(STALL, bytes.next()).await.map_err(|_| DiskError::Stalled)?;
        let Some(piece) = next.transpose()? else {
            let _ = to.send(Piece::End).await;
            return Ok(());
        };
        // A thread that has ended knows why.
        if to.send(Piece::Bytes(piece)).await.is_err() {
            return Ok(());
        }
    }
}

/// Runs disk operations that block.
async fn on_thread<T: Send + 'static>(work: impl FnOnce() -> io::Result<T> + Send + 'static) -> io::Result<T> {
    tokio::task::spawn_blocking(work).await.map_err(io::Error::other)?
}

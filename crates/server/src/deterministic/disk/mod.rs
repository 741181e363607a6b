//! A disk in memory that distinguishes durable data. A crash loses non-durable writes or tears them: some of their
//! sectors are written, others are not.

mod file;

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use encamp_host::simulation;
use parking_lot::{Mutex, MutexGuard};

use super::guest;
use super::sim::{self, Bug};
use encamp_model::random::Random;

use file::File;

/// Sectors are written atomically.
const SECTOR: u64 = 512;

enum Change {
    Write(u64, Vec<u8>),
    Length(u64),
}

impl Change {
    fn apply(&self, to: &mut Vec<u8>) {
        match self {
            Change::Write(at, bytes) => {
                let (at, end) = (*at as usize, *at as usize + bytes.len());
                if to.len() < end {
                    to.resize(end, 0);
                }
                to[at..end].copy_from_slice(bytes);
            }
            Change::Length(n) => to.resize(*n as usize, 0),
        }
    }
}

#[derive(Default)]
struct Inode {
    /// The content that is read.
    now: Vec<u8>,
    /// The content that survives any crash.
    durable: Vec<u8>,
    pending: Vec<Change>,
    /// The number of pending changes that the disk reported as durable, if it lies.
    promised: usize,
}

impl Inode {
    fn change(&mut self, change: Change) {
        change.apply(&mut self.now);
        self.pending.push(change);
    }

    fn settle(&mut self, count: usize) {
        self.pending.drain(..count).for_each(|c| c.apply(&mut self.durable));
    }
}

#[derive(Clone)]
enum Rename {
    Add(PathBuf, u64),
    Remove(PathBuf),
    Move(PathBuf, PathBuf),
}

impl Rename {
    fn apply(&self, names: &mut BTreeMap<PathBuf, u64>) {
        match self {
            Rename::Add(path, inode) => drop(names.insert(path.clone(), *inode)),
            Rename::Remove(path) => drop(names.remove(path)),
            Rename::Move(from, to) => {
                if let Some(inode) = names.remove(from) {
                    names.insert(to.clone(), inode);
                }
            }
        }
    }

    /// Whether this replaces a vote that was durable already, or its copy.
    fn replaces_vote(&self, names: &BTreeMap<PathBuf, u64>) -> bool {
        let vote = |to: &Path| to.ends_with("vote") || to.ends_with("vote.copy");
        matches!(self, Rename::Move(_, to) if vote(to) && names.contains_key(to))
    }

    fn dir(&self) -> Option<&Path> {
        match self {
            Rename::Add(path, _) | Rename::Remove(path) | Rename::Move(_, path) => path.parent(),
        }
    }
}

struct State {
    random: Random,
    inodes: BTreeMap<u64, Inode>,
    next: u64,
    names: BTreeMap<PathBuf, u64>,
    durable_names: BTreeMap<PathBuf, u64>,
    pending: Vec<Rename>,
    /// Whether syncs are slow at times.
    slow: bool,
    /// Whether its power was cut.
    dead: bool,
}

/// The disk of one server. Paths begin with its directory, which is not part of the names.
pub(crate) struct Disk(Mutex<State>);

/// The damage of a crash.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Damage {
    /// Lost writes.
    pub lost: u64,
    /// Writes of which only some sectors were written.
    pub torn: u64,
}

fn missing(path: &Path) -> io::Error {
    io::Error::new(io::ErrorKind::NotFound, path.display().to_string())
}

/// The path without the part that names the disk.
fn local(path: &Path) -> PathBuf {
    path.components().skip(3).collect()
}

impl Disk {
    /// Creates an empty disk.
    pub(crate) fn new(random: Random, slow: bool) -> Arc<Disk> {
        Arc::new(Disk(Mutex::new(State {
            random,
            inodes: BTreeMap::new(),
            next: 1,
            names: BTreeMap::new(),
            durable_names: BTreeMap::new(),
            pending: Vec::new(),
            slow,
            dead: false,
        })))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock()
    }

    /// Returns a new disk with the content after a crash. Nothing on the old disk becomes durable any more, so that a
    /// server whose threads are still running never acknowledges data that the new disk may lack.
    pub(crate) fn after_crash(&self) -> (Arc<Disk>, Damage) {
        let mut state = self.lock();
        state.dead = true;
        let State { random, inodes, durable_names, pending, next, slow, .. } = &mut *state;
        let mut damage = Damage::default();
        let mut names = durable_names.clone();
        // Names become durable in order, at any time.
        let kept = random.below(pending.len() as u64 + 1) as usize;
        pending.iter().take(kept).for_each(|r| r.apply(&mut names));
        let mut left = BTreeMap::new();
        for (id, inode) in inodes.iter() {
            if !names.values().any(|n| n == id) {
                continue;
            }
            let content = torn(inode, random, &mut damage);
            left.insert(*id, Inode { now: content.clone(), durable: content, ..Inode::default() });
        }
        let random = Random::new(random.number(), "disk");
        let state = State {
            random,
            inodes: left,
            next: *next,
            durable_names: names.clone(),
            names,
            pending: Vec::new(),
            slow: *slow,
            dead: false,
        };
        (Arc::new(Disk(Mutex::new(state))), damage)
    }

    /// Returns a new disk with all that was written, as after the end of the process alone. Nothing is written to the old
    /// disk any more.
    pub(crate) fn after_kill(&self) -> Arc<Disk> {
        let mut state = self.lock();
        state.dead = true;
        let named = |id: &u64| state.names.values().any(|n| n == id);
        let kept = state.inodes.iter().filter(|(id, _)| named(id));
        let kept = kept.map(|(id, i)| (*id, Inode { now: i.now.clone(), durable: i.now.clone(), ..Inode::default() }));
        let inodes = kept.collect();
        let (names, next, slow) = (state.names.clone(), state.next, state.slow);
        let random = Random::new(state.random.number(), "disk");
        let durable_names = names.clone();
        Arc::new(Disk(Mutex::new(State {
            random,
            inodes,
            next,
            names,
            durable_names,
            pending: Vec::new(),
            slow,
            dead: false,
        })))
    }

    /// All files with their content.
    pub(crate) fn contents(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let state = self.lock();
        let content = |id: &u64| state.inodes.get(id).map_or_else(Vec::new, |i| i.now.clone());
        state.names.iter().map(|(path, id)| (path.clone(), content(id))).collect()
    }

    /// Puts other bytes into a file, behind the back of its server.
    pub(crate) fn rot(&self, path: &Path, bytes: Vec<u8>) {
        let mut state = self.lock();
        let Some(id) = state.names.get(path).copied() else { return };
        if let Some(inode) = state.inodes.get_mut(&id) {
            *inode = Inode { now: bytes.clone(), durable: bytes, ..Inode::default() };
        }
    }

    /// Whether a crash would lose data.
    pub(crate) fn busy(&self) -> bool {
        let state = self.lock();
        !state.pending.is_empty() || state.inodes.values().any(|i| !i.pending.is_empty())
    }

    fn change(&self, inode: u64, change: Change) {
        if let Some(inode) = self.lock().inodes.get_mut(&inode) {
            inode.change(change);
        }
    }

    fn sync(&self, inode: u64, may_lie: bool) -> io::Result<()> {
        self.delay();
        let lies = may_lie && sim::has(Bug::AckBeforeFsync);
        let mut state = self.lock();
        state.check()?;
        if sim::has(Bug::SkippedFsync) {
            return Ok(());
        }
        if let Some(inode) = state.inodes.get_mut(&inode) {
            let count = if lies { inode.promised.min(inode.pending.len()) } else { inode.pending.len() };
            inode.settle(count);
            inode.promised = inode.pending.len();
        }
        Ok(())
    }

    /// Simulates the duration of a sync, where this is possible.
    fn delay(&self) {
        if !guest::may_wait() {
            return;
        }
        let ms = {
            let State { random, slow, .. } = &mut *self.lock();
            match random.below(100) {
                0 if *slow => 50 + random.below(700),
                1..10 if *slow => 5 + random.below(40),
                _ => random.below(3),
            }
        };
        if ms > 0 {
            guest::block_on(tokio::time::sleep(Duration::from_millis(ms)));
        }
    }
}

impl simulation::Disk for Disk {
    fn open(self: Arc<Self>, path: &Path) -> io::Result<Box<dyn simulation::File>> {
        let inode = *self.lock().names.get(&local(path)).ok_or_else(|| missing(path))?;
        Ok(Box::new(File::new(&self, inode)))
    }

    fn create(self: Arc<Self>, path: &Path) -> io::Result<Box<dyn simulation::File>> {
        let mut state = self.lock();
        if let Some(inode) = state.names.get(&local(path)).copied() {
            drop(state);
            self.change(inode, Change::Length(0));
            return Ok(Box::new(File::new(&self, inode)));
        }
        let inode = state.next;
        state.next += 1;
        state.inodes.insert(inode, Inode::default());
        state.rename(Rename::Add(local(path), inode));
        Ok(Box::new(File::new(&self, inode)))
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        let mut state = self.lock();
        if !state.names.contains_key(&local(path)) {
            return Err(missing(path));
        }
        state.rename(Rename::Remove(local(path)));
        Ok(())
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut state = self.lock();
        if !state.names.contains_key(&local(from)) {
            return Err(missing(from));
        }
        state.rename(Rename::Move(local(from), local(to)));
        Ok(())
    }

    fn names(&self, dir: &Path) -> Vec<String> {
        let (state, dir) = (self.lock(), local(dir));
        let inside = state.names.keys().filter(|p| p.parent() == Some(dir.as_path()));
        inside.filter_map(|p| Some(p.file_name()?.to_str()?.to_string())).collect()
    }

    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        self.delay();
        let mut state = self.lock();
        state.check()?;
        if sim::has(Bug::SkippedDirectorySync) {
            return Ok(());
        }
        let dir = local(dir);
        let State { pending, durable_names, .. } = &mut *state;
        pending.retain(|r| {
            let here = r.dir() == Some(dir.as_path());
            if here && !(sim::has(Bug::ForgottenVote) && r.replaces_vote(durable_names)) {
                r.apply(durable_names);
            }
            !here
        });
        Ok(())
    }
}

impl State {
    fn check(&self) -> io::Result<()> {
        if self.dead { Err(io::Error::other("the power is cut")) } else { Ok(()) }
    }

    fn rename(&mut self, rename: Rename) {
        rename.apply(&mut self.names);
        self.pending.push(rename);
    }
}

/// The content of a file after a crash: its durable content, some of the later writes, and parts of the next one.
fn torn(inode: &Inode, random: &mut Random, damage: &mut Damage) -> Vec<u8> {
    let mut content = inode.durable.clone();
    let kept = random.below(inode.pending.len() as u64 + 1) as usize;
    inode.pending.iter().take(kept).for_each(|c| c.apply(&mut content));
    damage.lost += (inode.pending.len() - kept) as u64;
    if let Some(Change::Write(at, bytes)) = inode.pending.get(kept)
        && random.below(2) == 0
    {
        damage.torn += 1;
        // The file may have its new length without all of its data.
        let most = random.below(bytes.len() as u64 + 1);
        let end = *at + most;
        let mut from = *at;
        while from < end {
            let sector = ((from / SECTOR + 1) * SECTOR).min(*at + bytes.len() as u64);
            // A sector that is there is written whole or not at all.
            let to = if content.len() as u64 >= sector { sector } else { sector.min(end) };
            let part = &bytes[(from - at) as usize..(to - at) as usize];
            if random.below(3) > 0 {
                Change::Write(from, part.to_vec()).apply(&mut content);
            } else if content.len() < to as usize {
                content.resize(to as usize, 0);
            }
            from = to;
        }
    }
    if sim::has(Bug::IgnoredChecksum) {
        rot(&mut content, random);
    }
    content
}

/// Changes a byte of a frame of the log, at times.
fn rot(content: &mut Vec<u8>, random: &mut Random) {
    let frames: Vec<usize> = content.windows(4).enumerate().filter(|(_, w)| w == b"ENCL").map(|(at, _)| at).collect();
    let Some(at) = random.pick(&frames).copied().filter(|_| random.below(3) == 0) else { return };
    let byte = at + HEAD.0 + random.below(16) as usize;
    if let Some(byte) = content.get_mut(byte) {
        *byte ^= 1 << random.below(8);
        repair_sums(content, at);
    }
}

/// The length of a frame's head in the log, with the places of the payload's length and of the checksums of the payload
/// and the head (`raft::log::frame`).
const HEAD: (usize, usize, usize, usize) = (64, 8, 56, 60);
/// Where the checksum of the head before it is, and the place that is not zero if it is there.
const LINK: (usize, usize) = (40, 32);

/// Gives the frames of a log from a place on the checksums of what is there: as if nobody compared them.
fn repair_sums(content: &mut Vec<u8>, mut at: usize) {
    let (head, length, of_payload, of_head) = HEAD;
    let mut before: Option<[u8; 4]> = None;
    while content.get(at..at + 4) == Some(b"ENCL") && content.len() >= at + head {
        let mut number = [0; 4];
        number.copy_from_slice(&content[at + length..at + length + 4]);
        let end = at + head + u32::from_le_bytes(number) as usize;
        content.resize(content.len().max(end), 0);
        if let Some(before) = before.filter(|_| content[at + LINK.1..at + LINK.1 + 8] != [0; 8]) {
            content[at + LINK.0..at + LINK.0 + 4].copy_from_slice(&before);
        }
        let sum = crc32fast::hash(&content[at + head..end]);
        content[at + of_payload..at + of_payload + 4].copy_from_slice(&sum.to_le_bytes());
        let sum = crc32fast::hash(&content[at..at + of_head]).to_le_bytes();
        content[at + of_head..at + head].copy_from_slice(&sum);
        before = Some(sum);
        at = end;
    }
}

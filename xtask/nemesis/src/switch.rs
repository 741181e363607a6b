//! The network: each member has a namespace with a TUN device, and this program passes the packets on.

use std::collections::{BTreeMap, BinaryHeap};
use std::fs::{self, File};
use std::io;
use std::os::fd::AsFd;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, PoisonError, RwLock};
use std::thread;
use std::time::{Duration, Instant};

use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use tappers::{Interface, Tun};

use crate::dice::Dice;
use crate::failure::{Failure, Outcome};
use crate::place::{PREFIX, Place};
use crate::rules::{Rules, Verdict, ends};
use crate::shell::run;

/// The device in each namespace.
const DEVICE: &str = "tun0";
/// Where `ip netns` keeps the names of namespaces.
pub(crate) const NAMES: &str = "/run/netns";
/// The largest packet. Large packets save processor time.
const MTU: usize = 9000;
/// How long the thread of delayed packets waits if there are none.
const IDLE: Duration = Duration::from_secs(3600);

/// Packets that were passed on or not.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    pub(crate) delivered: AtomicU64,
    pub(crate) dropped: AtomicU64,
    pub(crate) delayed: AtomicU64,
    pub(crate) doubled: AtomicU64,
}

/// The switch between all members.
#[derive(Clone)]
pub(crate) struct Switch {
    rules: Arc<RwLock<Rules>>,
    pub(crate) counts: Arc<Counts>,
}

/// A packet that is delivered later.
struct Late {
    due: Instant,
    to: Place,
    packet: Vec<u8>,
}

impl PartialEq for Late {
    fn eq(&self, other: &Late) -> bool {
        self.due == other.due
    }
}

impl Eq for Late {}

impl PartialOrd for Late {
    fn partial_cmp(&self, other: &Late) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Late {
    /// The earliest packet is the greatest.
    fn cmp(&self, other: &Late) -> std::cmp::Ordering {
        other.due.cmp(&self.due)
    }
}

type Devices = Arc<BTreeMap<Place, Arc<Tun>>>;

impl Switch {
    /// Makes the namespaces and devices of all members, and passes their packets on until the program ends.
    ///
    /// # Errors
    /// The system refuses namespaces or devices: root is needed.
    pub(crate) fn new(seed: u64) -> Outcome<Switch> {
        // The names are visible to this program and the agents alone.
        fs::create_dir_all(NAMES).map_err(|e| Failure::file(Path::new(NAMES), e))?;
        run(&["mount", "-t", "tmpfs", "encamp-nemesis", NAMES])?;
        let mut devices = BTreeMap::new();
        for place in Place::all() {
            run(&["ip", "netns", "add", &place.namespace()])?;
            devices.insert(place, Arc::new(device(place)?));
            let namespace = place.namespace();
            let address = format!("{}/{PREFIX}", place.address());
            let ip = |words: &[&str]| run(&[&["ip", "-n", &namespace], words].concat());
            ip(&["address", "add", &address, "dev", DEVICE])?;
            ip(&["link", "set", DEVICE, "mtu", &MTU.to_string(), "up"])?;
            ip(&["link", "set", "lo", "up"])?;
        }
        let devices: Devices = Arc::new(devices);
        let switch = Switch { rules: Arc::default(), counts: Arc::default() };
        let (late, queue) = channel();
        let to = Arc::clone(&devices);
        thread::spawn(move || deliver_late(&queue, &to));
        for (place, device) in devices.iter() {
            let (place, device, devices) = (*place, Arc::clone(device), Arc::clone(&devices));
            let (switch, late) = (switch.clone(), late.clone());
            let dice = Dice::new(seed, &format!("packets of {place}"));
            thread::spawn(move || switch.forward(place, &device, &devices, &late, dice));
        }
        Ok(switch)
    }

    /// Replaces the rules.
    pub(crate) fn set(&self, rules: Rules) {
        *self.rules.write().unwrap_or_else(PoisonError::into_inner) = rules;
    }

    /// Passes the packets of a member on.
    fn forward(&self, from: Place, device: &Tun, devices: &Devices, late: &Sender<Late>, mut dice: Dice) {
        let mut buffer = vec![0_u8; MTU + 100];
        loop {
            let packet = match device.recv(&mut buffer) {
                Ok(length) => &buffer[..length],
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(_) => return,
            };
            // Members cannot send under the address of others, and multicast has no receiver.
            let Some((source, destination)) = ends(packet) else { continue };
            let Some(to) = Place::of(destination).filter(|_| Place::of(source) == Some(from)) else { continue };
            let verdict = self.rules.read().unwrap_or_else(PoisonError::into_inner).decide(from, to, &mut dice);
            let Verdict::Deliver(copies) = verdict else {
                self.counts.dropped.fetch_add(1, Ordering::Relaxed);
                continue;
            };
            self.counts.delivered.fetch_add(1, Ordering::Relaxed);
            if copies.len() > 1 {
                self.counts.doubled.fetch_add(1, Ordering::Relaxed);
            }
            for delay in copies {
                if delay.is_zero() {
                    send(devices, to, packet);
                } else {
                    self.counts.delayed.fetch_add(1, Ordering::Relaxed);
                    // The receiver lives as long as the program.
                    let _ = late.send(Late { due: Instant::now() + delay, to, packet: packet.to_vec() });
                }
            }
        }
    }
}

/// A device that cannot take a packet loses it, as a full queue does.
fn send(devices: &Devices, to: Place, packet: &[u8]) {
    if let Some(device) = devices.get(&to) {
        let _ = device.send(packet);
    }
}

fn deliver_late(queue: &Receiver<Late>, devices: &Devices) {
    let mut waiting: BinaryHeap<Late> = BinaryHeap::new();
    loop {
        let wait = waiting.peek().map_or(IDLE, |late| late.due.saturating_duration_since(Instant::now()));
        match queue.recv_timeout(wait) {
            Ok(late) => waiting.push(late),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
        while waiting.peek().is_some_and(|late| late.due <= Instant::now()) {
            if let Some(late) = waiting.pop() {
                send(devices, late.to, &late.packet);
            }
        }
    }
}

/// Opens the device of a member: in a thread in its namespace. The device stays usable from everywhere.
fn device(place: Place) -> Outcome<Tun> {
    let failed = |source: io::Error| Failure::Network { member: place.to_string(), source };
    let opened = thread::spawn(move || -> io::Result<Tun> {
        enter(place)?;
        Tun::new_named(Interface::new(DEVICE)?)
    });
    opened.join().unwrap_or_else(|_| Err(io::Error::other("the thread panicked"))).map_err(failed)
}

/// Moves the current thread, and the threads that it starts later, into the network of a member.
///
/// # Errors
/// The system refuses it.
pub(crate) fn enter(place: Place) -> io::Result<()> {
    let namespace = File::open(Path::new(NAMES).join(place.namespace()))?;
    Ok(move_into_link_name_space(namespace.as_fd(), Some(LinkNameSpaceType::Network))?)
}

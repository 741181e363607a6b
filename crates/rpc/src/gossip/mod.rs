//! Membership of the servers: each server probes random others and gossips what it learns (SWIM, by `foca`), in
//! datagrams on the serf port.

mod identity;
mod keyring;
mod packets;
mod table;

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::io;
use std::net::SocketAddr;
use std::num::{NonZeroU8, NonZeroUsize};
use std::sync::Arc;
use std::time::Duration;

use foca::{AccumulatingRuntime, Config, Foca, NoCustomBroadcast, OwnedNotification, PeriodicParams, Timer};
use parking_lot::Mutex;
use rand::SeedableRng;
use rand::rngs::SmallRng;
use tokio::net::UdpSocket;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinHandle;
use tokio::time::Instant;

pub use identity::Identity;
pub(crate) use keyring::{Cipher, after};
pub use keyring::{KEYRING_FILE, KeyRefusal, Keyring, KeyringFileError, MOST_KEYS};
use packets::{Envelope, Greeting, LONGEST, Packed};
use table::{Forced, Table};

use encamp_host::ids;
use encamp_raft::ServerId;
use encamp_server::leadership::peers::KnownServer;

/// Commands that wait.
const QUEUE: usize = 64;
/// How long a server that answers is shown as leaving after it was forced to leave.
const LEAVING: Duration = Duration::from_secs(10);
/// How long news of the departure have to get around.
const FAREWELL: Duration = Duration::from_millis(500);

/// A handle on the membership of this server; clones share it.
#[derive(Clone)]
pub struct Gossip(Arc<Inner>);

struct Inner {
    commands: mpsc::Sender<Command>,
    table: Mutex<Table>,
    own: Mutex<Identity>,
    changed: watch::Sender<()>,
    keyring: Keyring,
    /// Calls that wait for the answer to a question, by its number.
    asked: Mutex<HashMap<u64, oneshot::Sender<Identity>>>,
    task: Mutex<Option<JoinHandle<()>>>,
}

enum Command {
    Announce(SocketAddr),
    Greet(SocketAddr, Greeting),
    Leave(oneshot::Sender<()>),
}

fn settings() -> Config {
    let count = |n: usize| NonZeroUsize::new(n).unwrap_or(NonZeroUsize::MIN);
    let every = |seconds, n| Some(PeriodicParams { frequency: Duration::from_secs(seconds), num_members: count(n) });
    Config {
        probe_period: Duration::from_secs(1),
        probe_rtt: Duration::from_millis(500),
        num_indirect_probes: count(3),
        max_transmissions: NonZeroU8::new(10).unwrap_or(NonZeroU8::MIN),
        suspect_to_down_after: Duration::from_secs(3),
        remove_down_after: Some(Duration::from_secs(24 * 3600)),
        max_packet_size: count(LONGEST),
        notify_down_members: true,
        periodic_announce: every(10, 1),
        periodic_announce_to_down_members: every(15, 2),
        periodic_gossip: Some(PeriodicParams { frequency: Duration::from_millis(200), num_members: count(3) }),
    }
}

impl Gossip {
    /// Begins to answer others. Datagrams are sealed with the keys of `keyring`, if there are any.
    pub fn start(socket: UdpSocket, own: Identity, keyring: Keyring) -> Gossip {
        let envelope = Envelope::new(keyring.clone());
        let (commands, received) = mpsc::channel(QUEUE);
        let mut table = Table::default();
        table.up(&own);
        let inner = Inner {
            commands,
            table: Mutex::new(table),
            own: Mutex::new(own.clone()),
            changed: watch::channel(()).0,
            keyring,
            asked: Mutex::default(),
            task: Mutex::new(None),
        };
        let gossip = Gossip(Arc::new(inner));
        let foca = Foca::new(own, settings(), SmallRng::seed_from_u64(ids::random()), Packed);
        let node = Node { foca, socket, envelope, timers: BinaryHeap::new(), count: 0, gossip: gossip.clone() };
        *gossip.0.task.lock() = Some(tokio::spawn(node.run(received)));
        gossip
    }

    /// This server as others see it.
    pub fn own(&self) -> Identity {
        self.0.own.lock().clone()
    }

    /// All servers that were heard of, this one among them, by name.
    pub fn known(&self) -> Vec<KnownServer> {
        self.0.table.lock().known()
    }

    /// Those that answer.
    pub fn alive(&self) -> Vec<Identity> {
        self.0.table.lock().all_alive()
    }

    /// Where a server answers calls, if it is known to be alive.
    pub(crate) fn address_of(&self, id: ServerId) -> Option<String> {
        self.0.table.lock().alive(id).map(|k| k.rpc.clone())
    }

    /// Where a server answers calls, whether it is alive or not.
    pub(crate) fn last_address_of(&self, id: ServerId) -> Option<String> {
        self.0.table.lock().last(id).map(|k| k.rpc.clone())
    }

    /// The keys that seal datagrams.
    pub fn keyring(&self) -> &Keyring {
        &self.0.keyring
    }

    /// Changes with the servers that are known.
    pub fn changes(&self) -> watch::Receiver<()> {
        self.0.changed.subscribe()
    }

    /// Greets whoever is at an address; if it is a server, it answers with those it knows.
    pub(crate) async fn announce(&self, to: SocketAddr) {
        let _ = self.0.commands.send(Command::Announce(to)).await;
    }

    /// The server that is reached at one of some addresses, whatever address it advertises; none if no server answers
    /// in time.
    pub(crate) async fn who_is_at(&self, addresses: &[SocketAddr], within: Duration) -> Option<Identity> {
        let (answer, answered) = oneshot::channel();
        let number = ids::random();
        self.0.asked.lock().insert(number, answer);
        for address in addresses {
            let _ = self.0.commands.send(Command::Greet(*address, Greeting::Ask(number))).await;
        }
        let waited = tokio::time::timeout(within, answered).await;
        self.0.asked.lock().remove(&number);
        waited.ok()?.ok()
    }

    /// Whether a server of that name, with or without its region, answers.
    pub fn is_alive(&self, name: &str) -> bool {
        self.0.table.lock().is_alive(name)
    }

    /// Forces a server to leave: one that does not answer has left, and is forgotten with `prune`; one that answers
    /// leaves for a while, and is alive again if it still answers then. False if no such server is known.
    pub fn force_leave(&self, name: &str, prune: bool) -> bool {
        let forced = self.0.table.lock().force_leave(name, prune);
        self.0.changed.send_replace(());
        match forced {
            Forced::Unknown => return false,
            Forced::Gone => {}
            Forced::Leaving(id) => {
                let gossip = self.clone();
                tokio::spawn(async move {
                    tokio::time::sleep(LEAVING).await;
                    gossip.0.table.lock().stays(id);
                    gossip.0.changed.send_replace(());
                });
            }
        }
        true
    }

    /// Tells the others that this server leaves.
    pub async fn leave(&self) {
        let (done, left) = oneshot::channel();
        if self.0.commands.send(Command::Leave(done)).await.is_ok() {
            let _ = tokio::time::timeout(FAREWELL, left).await;
        }
    }

    /// Stops gossiping.
    pub fn stop(&self) {
        if let Some(task) = self.0.task.lock().take() {
            task.abort();
        }
    }

    fn notice(&self, notification: OwnedNotification<Identity>) {
        let mut table = self.0.table.lock();
        match notification {
            OwnedNotification::MemberUp(who) => {
                tracing::info!(target: "nomad", server = who.full_name(), "adding server");
                table.up(&who);
            }
            OwnedNotification::MemberDown(who) => {
                tracing::info!(target: "nomad", server = who.full_name(), left = who.left, "server is gone");
                table.down(&who);
            }
            OwnedNotification::Rename(old, new) => table.renamed(&old, &new),
            OwnedNotification::Rejoin(own) => {
                table.up(&own);
                *self.0.own.lock() = own;
            }
            OwnedNotification::Active | OwnedNotification::Idle | OwnedNotification::Defunct => return,
        }
        drop(table);
        self.0.changed.send_replace(());
    }
}

/// What datagrams do to a server that gossips alone, without a socket and a clock: how many members it knows then. For
/// fuzzers.
#[doc(hidden)]
pub fn members_after<'a>(own: Identity, keyring: &Keyring, datagrams: impl IntoIterator<Item = &'a [u8]>) -> usize {
    let envelope = Envelope::new(keyring.clone());
    let mut foca = Foca::new(own, settings(), SmallRng::seed_from_u64(1), Packed);
    let (mut runtime, mut table) = (AccumulatingRuntime::new(), Table::default());
    for datagram in datagrams {
        let Some(content) = envelope.open(datagram) else { continue };
        match Greeting::read(&content) {
            Some(greeting) => drop(greeting.content()),
            // What cannot be decoded is dropped.
            None => drop(foca.handle_data(&content, &mut runtime)),
        }
        while let Some((_, content)) = runtime.to_send() {
            let _ = envelope.close(&content);
        }
        while let Some((_, timer)) = runtime.to_schedule() {
            let _ = foca.handle_timer(timer, &mut runtime);
        }
        while let Some(notification) = runtime.to_notify() {
            match notification {
                OwnedNotification::MemberUp(who) => table.up(&who),
                OwnedNotification::MemberDown(who) => table.down(&who),
                OwnedNotification::Rename(old, new) => table.renamed(&old, &new),
                _ => {}
            }
        }
    }
    table.known().len()
}

/// A timer, and its turn among those of one moment.
struct Due(Instant, u64, Timer<Identity>);

impl PartialEq for Due {
    fn eq(&self, other: &Due) -> bool {
        (self.0, self.1) == (other.0, other.1)
    }
}

impl Eq for Due {}

impl PartialOrd for Due {
    fn partial_cmp(&self, other: &Due) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Due {
    fn cmp(&self, other: &Due) -> std::cmp::Ordering {
        (self.0, self.1).cmp(&(other.0, other.1))
    }
}

struct Node {
    foca: Foca<Identity, Packed, SmallRng, NoCustomBroadcast>,
    socket: UdpSocket,
    envelope: Envelope,
    timers: BinaryHeap<Reverse<Due>>,
    count: u64,
    gossip: Gossip,
}

impl Node {
    async fn run(mut self, mut commands: mpsc::Receiver<Command>) {
        let mut runtime = AccumulatingRuntime::new();
        let mut buffer = vec![0u8; 64 << 10];
        loop {
            let next = self.timers.peek().map(|Reverse(due)| due.0);
            let due = async {
                match next {
                    Some(at) => tokio::time::sleep_until(at).await,
                    None => std::future::pending().await,
                }
            };
            let done = tokio::select! {
                received = self.socket.recv_from(&mut buffer) => self.received(received, &buffer, &mut runtime).await,
                Some(command) = commands.recv() => self.obey(command, &mut runtime).await,
                () = due => match self.timers.pop() {
                    Some(Reverse(Due(_, _, timer))) => self.foca.handle_timer(timer, &mut runtime),
                    None => Ok(()),
                },
            };
            if let Err(error) = done {
                tracing::debug!(target: "nomad", %error, "failed to decode a datagram");
            }
            self.follow(&mut runtime).await;
        }
    }

    async fn received(
        &mut self,
        received: io::Result<(usize, SocketAddr)>,
        buffer: &[u8],
        runtime: &mut AccumulatingRuntime<Identity>,
    ) -> Result<(), foca::Error> {
        match received {
            Ok((length, from)) => match self.envelope.open(&buffer[..length]) {
                Some(content) => match Greeting::read(&content) {
                    Some(greeting) => {
                        self.greeted(from, greeting).await;
                        Ok(())
                    }
                    None => self.foca.handle_data(&content, runtime),
                },
                None => Ok(()),
            },
            Err(error) => {
                tracing::debug!(target: "nomad", %error, "can't receive datagrams");
                tokio::time::sleep(Duration::from_millis(50)).await;
                Ok(())
            }
        }
    }

    /// Answers a question, or passes an answer to the call that waits for it.
    async fn greeted(&self, from: SocketAddr, greeting: Greeting) {
        match greeting {
            Greeting::Ask(number) => self.greet(from, &Greeting::Answer(number, self.foca.identity().clone())).await,
            Greeting::Answer(number, who) => {
                if let Some(waiting) = self.gossip.0.asked.lock().remove(&number) {
                    let _ = waiting.send(who);
                }
            }
        }
    }

    async fn greet(&self, to: SocketAddr, greeting: &Greeting) {
        if let Some(datagram) = greeting.content().and_then(|content| self.envelope.close(&content)) {
            // A lost datagram is no error: the joining server asks again.
            let _ = self.socket.send_to(&datagram, to).await;
        }
    }

    async fn obey(&mut self, command: Command, runtime: &mut AccumulatingRuntime<Identity>) -> Result<(), foca::Error> {
        match command {
            Command::Announce(to) => self.foca.announce(Identity::at(to), runtime),
            Command::Greet(to, greeting) => {
                self.greet(to, &greeting).await;
                Ok(())
            }
            Command::Leave(done) => {
                let own = self.foca.identity().clone();
                let leaving = Identity { left: true, bump: own.bump.wrapping_add(1), ..own };
                self.gossip.0.table.lock().up(&leaving);
                self.foca.change_identity(leaving, &mut *runtime)?;
                self.foca.leave_cluster(runtime)?;
                let _ = done.send(());
                Ok(())
            }
        }
    }

    /// Sends, waits and tells what came of it.
    async fn follow(&mut self, runtime: &mut AccumulatingRuntime<Identity>) {
        while let Some((to, content)) = runtime.to_send() {
            if let Some(datagram) = self.envelope.close(&content) {
                // Nobody there is news that others will bring.
                let _ = self.socket.send_to(&datagram, to.addr).await;
            }
        }
        let now = Instant::now();
        while let Some((after, timer)) = runtime.to_schedule() {
            self.count += 1;
            self.timers.push(Reverse(Due(now + after, self.count, timer)));
        }
        while let Some(notification) = runtime.to_notify() {
            self.gossip.notice(notification);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use encamp_model::GossipKey;
    use encamp_server::leadership::peers::Status;

    fn keyring(text: Option<&str>) -> Keyring {
        Keyring::in_memory(text.map(|t| GossipKey::parse(t).expect("a key"))).expect("a keyring")
    }

    async fn server(n: u8, key: Option<&str>) -> Gossip {
        let socket = UdpSocket::bind("127.0.0.1:0").await.expect("a port");
        let at = Identity::at(socket.local_addr().expect("an address"));
        let id = format!("00000000-0000-0000-0000-0000000000{n:02}").parse().expect("an ID");
        let own = Identity { id, bump: 1, name: format!("s{n}"), region: "global".into(), ..at };
        Gossip::start(socket, own, keyring(key))
    }

    async fn until(gossip: &Gossip, what: &str, holds: impl Fn(&[KnownServer]) -> bool) {
        let mut changes = gossip.changes();
        let wait = async {
            while !holds(&gossip.known()) {
                let _ = tokio::time::timeout(Duration::from_millis(100), changes.changed()).await;
            }
        };
        let waited = tokio::time::timeout(Duration::from_secs(30), wait).await;
        assert!(waited.is_ok(), "{what}: {:?}", gossip.known());
    }

    fn count(status: Status, known: &[KnownServer]) -> usize {
        known.iter().filter(|k| k.status == status).count()
    }

    #[tokio::test]
    async fn a_server_is_found_at_an_address_that_it_does_not_advertise() {
        let key = Some("MDEyMzQ1Njc4OWFiY2RlZg==");
        let (a, stranger) = (server(1, key).await, server(2, None).await);
        // Bound to all addresses, as servers are that advertise one of several.
        let socket = UdpSocket::bind("0.0.0.0:0").await.expect("a port");
        let port = socket.local_addr().expect("an address").port();
        let id = "00000000-0000-0000-0000-000000000003".parse().expect("an ID");
        let own = Identity { id, bump: 1, name: "s3".into(), ..Identity::at(([127, 0, 0, 1], port).into()) };
        let b = Gossip::start(socket, own.clone(), keyring(key));
        let elsewhere: SocketAddr = ([127, 0, 0, 9], port).into();
        let long = Duration::from_secs(20);
        assert_eq!(a.who_is_at(&[elsewhere], long).await, Some(own.clone()));
        assert_eq!(b.who_is_at(&[own.addr], long).await, Some(own), "itself");
        assert_eq!(stranger.who_is_at(&[elsewhere], Duration::from_millis(200)).await, None, "without the key");
        assert!(stranger.0.asked.lock().is_empty());
    }

    #[tokio::test]
    async fn servers_find_each_other_and_notice_who_goes() {
        let key = Some("MDEyMzQ1Njc4OWFiY2RlZg==");
        let (a, b, c, stranger) =
            (server(1, key).await, server(2, key).await, server(3, key).await, server(4, None).await);
        b.announce(a.own().addr).await;
        c.announce(a.own().addr).await;
        stranger.announce(a.own().addr).await;
        for one in [&a, &b, &c] {
            until(one, "all are there", |k| count(Status::Alive, k) == 3).await;
        }
        c.leave().await;
        b.stop();
        until(&a, "the member that leaves has left", |k| count(Status::Left, k) == 1).await;
        until(&a, "the member that stopped has failed", |k| count(Status::Failed, k) == 1).await;
        assert_eq!(stranger.known().len(), 1, "a member without the key is not accepted");
        assert_eq!(a.known().len(), 3);
    }
}

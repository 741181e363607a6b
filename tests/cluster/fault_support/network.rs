//! The network between the servers: a proxy in front of each, whose addresses the server advertises. It identifies the
//! sender of each connection and simulates network faults, separately for each direction.

use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt, copy_bidirectional};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream, UdpSocket};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::watch;

use super::{SERVERS, owner};

/// The handling of bytes from one server to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flow {
    Passes,
    /// Stream data is held, datagrams are dropped.
    Held,
    /// Data is delayed.
    Slow(Duration),
    /// Connections are closed, and new ones are closed at once.
    Cut,
}

/// By sender and receiver.
type Flows = [[Flow; SERVERS]; SERVERS];

/// The ports and the process of a server.
#[derive(Debug, Clone, Copy, Default)]
struct Place {
    rpc: u16,
    serf: u16,
    pid: u32,
}

#[derive(Clone)]
struct Shared {
    flows: watch::Sender<Flows>,
    /// First the servers, then the nodes.
    places: Arc<Mutex<Vec<Place>>>,
    hindered: Arc<AtomicUsize>,
}

/// The proxies of a cluster.
pub struct Network {
    shared: Shared,
    /// The RPC and Serf addresses of each server, for the others.
    pub addresses: Vec<[String; 2]>,
    /// Runs the proxies until it is dropped.
    _runtime: Runtime,
}

impl Network {
    pub fn new() -> Network {
        let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("a runtime");
        let flows = watch::channel([[Flow::Passes; SERVERS]; SERVERS]).0;
        let places = Arc::new(Mutex::new(vec![Place::default(); SERVERS]));
        let shared = Shared { flows, places, hindered: Arc::default() };
        let addresses = (0..SERVERS).map(|to| {
            let (listener, socket) = runtime.block_on(async {
                let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
                (listener, UdpSocket::bind("127.0.0.1:0").await.expect("a port"))
            });
            let addresses = [listener.local_addr(), socket.local_addr()].map(|a| a.expect("an address").to_string());
            runtime.spawn(shared.clone().connections(listener, to));
            runtime.spawn(shared.clone().datagrams(socket, to));
            addresses
        });
        Network { addresses: addresses.collect(), shared, _runtime: runtime }
    }

    /// Sets the handling of traffic by sender and receiver.
    pub fn set(&self, flow: impl Fn(usize, usize) -> Flow) {
        self.shared.flows.send_replace(std::array::from_fn(|from| std::array::from_fn(|to| flow(from, to))));
    }

    pub fn heal(&self) {
        self.set(|_, _| Flow::Passes);
    }

    /// The number of pieces, datagrams and connections that were not simply forwarded.
    pub fn hindered(&self) -> usize {
        self.shared.hindered.load(Ordering::SeqCst)
    }

    /// Sets the process at a place; nodes follow the servers. Connections of unknown processes are closed.
    pub fn process(&self, place: usize, pid: u32) {
        let mut places = self.shared.places();
        if places.len() <= place {
            places.resize(place + 1, Place::default());
        }
        places[place].pid = pid;
    }

    /// Sets the ports of a server.
    pub fn listens(&self, place: usize, rpc: u16, serf: u16) {
        let mut places = self.shared.places();
        (places[place].rpc, places[place].serf) = (rpc, serf);
    }
}

impl Shared {
    fn places(&self) -> MutexGuard<'_, Vec<Place>> {
        self.places.lock().expect("a lock")
    }

    fn flow(&self, from: usize, to: usize) -> Flow {
        self.flows.borrow()[from][to]
    }

    fn hinder(&self) {
        self.hindered.fetch_add(1, Ordering::SeqCst);
    }

    async fn connections(self, listener: TcpListener, to: usize) {
        while let Ok((stream, _)) = listener.accept().await {
            let shared = self.clone();
            // The closed connection notifies the sender of the cut.
            tokio::spawn(async move { shared.connection(stream, to).await });
        }
    }

    async fn connection(&self, mut stream: TcpStream, to: usize) -> io::Result<()> {
        let (client, here) = (stream.peer_addr()?.port(), stream.local_addr()?.port());
        let pids: Vec<u32> = self.places().iter().map(|p| p.pid).collect();
        let from = tokio::task::spawn_blocking(move || owner::of(client, here, &pids)).await?;
        let from = from.ok_or(io::ErrorKind::ConnectionRefused)?;
        let port = self.places()[to].rpc;
        if from >= SERVERS || from == to {
            let mut target = TcpStream::connect(("127.0.0.1", port)).await?;
            return copy_bidirectional(&mut stream, &mut target).await.map(drop);
        }
        let mut flows = self.flows.subscribe();
        if self.flow(from, to) == Flow::Cut || self.flow(to, from) == Flow::Cut {
            self.hinder();
            return Ok(());
        }
        let target = TcpStream::connect(("127.0.0.1", port)).await?;
        let _ = (stream.set_nodelay(true), target.set_nodelay(true));
        let ((client_reads, client_writes), (target_reads, target_writes)) = (stream.into_split(), target.into_split());
        let there = self.pump(client_reads, target_writes, from, to);
        let back = self.pump(target_reads, client_writes, to, from);
        tokio::select! {
            ended = async { tokio::try_join!(there, back) } => ended.map(drop),
            _ = flows.wait_for(|f| f[from][to] == Flow::Cut || f[to][from] == Flow::Cut) => {
                self.hinder();
                Ok(())
            }
        }
    }

    async fn pump(
        &self,
        mut reads: OwnedReadHalf,
        mut writes: OwnedWriteHalf,
        from: usize,
        to: usize,
    ) -> io::Result<()> {
        let mut flows = self.flows.subscribe();
        let mut buffer = vec![0; 64 << 10];
        loop {
            let n = reads.read(&mut buffer).await?;
            if self.flow(from, to) != Flow::Passes {
                self.hinder();
            }
            let passes = flows.wait_for(|f| f[from][to] != Flow::Held).await;
            let flow = passes.map_err(io::Error::other)?[from][to];
            if let Flow::Slow(delay) = flow {
                tokio::time::sleep(delay).await;
            }
            if n == 0 {
                return writes.shutdown().await;
            }
            writes.write_all(&buffer[..n]).await?;
        }
    }

    async fn datagrams(self, socket: UdpSocket, to: usize) {
        let socket = Arc::new(socket);
        let mut buffer = vec![0; 64 << 10];
        loop {
            // A datagram to a closed port is reported as an error of the next call.
            let Ok((n, sender)) = socket.recv_from(&mut buffer).await else { continue };
            let (from, target) = {
                let places = self.places();
                (places.iter().take(SERVERS).position(|p| p.serf == sender.port()), ("127.0.0.1", places[to].serf))
            };
            let flow = from.map_or(Flow::Passes, |from| self.flow(from, to));
            if flow != Flow::Passes {
                self.hinder();
            }
            match flow {
                Flow::Passes => drop(socket.send_to(&buffer[..n], target).await),
                Flow::Slow(delay) => {
                    let (socket, datagram) = (socket.clone(), buffer[..n].to_vec());
                    tokio::spawn(async move {
                        tokio::time::sleep(delay).await;
                        socket.send_to(&datagram, target).await
                    });
                }
                Flow::Held | Flow::Cut => {}
            }
        }
    }
}

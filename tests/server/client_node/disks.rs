//! Disks that come from other nodes (`docs/spec/client.md §9.3`), from agents that do what they must not.

use encamp_client::disk::{DiskBytes, DiskReads, ReadError};
use futures_util::future::BoxFuture;
use futures_util::{StreamExt, stream};

use super::*;

const PREVIOUS: &str = "bbbbbbbb-0000-0000-0000-000000000001";

/// What the agent of the other node does.
#[derive(Debug, Clone)]
enum Other {
    /// Refuses the request.
    Refuses,
    /// Sends this, and the connection ends as it should.
    Sends(Vec<u8>),
    /// Sends this, and the connection breaks.
    Breaks(Vec<u8>),
    /// Sends this, and nothing more.
    Hangs(Vec<u8>),
}

#[derive(Debug)]
struct Agent(Mutex<Other>);

fn broken() -> ReadError {
    ReadError(std::io::Error::other("the connection broke").into())
}

impl DiskReads for Agent {
    fn read<'a>(&'a self, disk: &'a PreviousDisk) -> BoxFuture<'a, Result<DiskBytes, ReadError>> {
        assert_eq!((disk.alloc_id.as_str(), disk.token.expose()), (PREVIOUS, "token"));
        let other = self.0.lock().unwrap().clone();
        Box::pin(async move {
            let pieces = |bytes: Vec<u8>| {
                let all: Vec<_> = bytes.chunks(1000).map(|piece| Ok(piece.to_vec())).collect();
                stream::iter(all)
            };
            match other {
                Other::Refuses => Err(broken()),
                Other::Sends(bytes) => Ok(pieces(bytes).boxed()),
                Other::Breaks(bytes) => Ok(pieces(bytes).chain(stream::iter([Err(broken())])).boxed()),
                Other::Hangs(bytes) => Ok(pieces(bytes).chain(stream::pending()).boxed()),
            }
        })
    }
}

/// An archive of a disk: paths with contents.
fn archive(files: &[(&str, &str)]) -> Vec<u8> {
    let mut tar = tar::Builder::new(Vec::new());
    for (path, text) in files {
        let mut header = tar::Header::new_gnu();
        header.set_size(text.len() as u64);
        header.set_mode(0o644);
        header.set_uid(0);
        header.set_gid(0);
        tar.append_data(&mut header, path, text.as_bytes()).unwrap();
    }
    tar.into_inner().unwrap()
}

/// The successor of an allocation of another node; its output says what it found.
fn successor() -> Allocation {
    let script = "cat $NOMAD_ALLOC_DIR/data/x 2>/dev/null || echo nothing";
    let disk = EphemeralDisk { sticky: true, migrate: true, size_mb: 1 };
    let alloc = with_group(alloc(JobType::Batch, &format!("[{}]", shell("main", script, ""))), |g| {
        g.ephemeral_disk = Some(disk);
    });
    Allocation { previous_allocation: PREVIOUS.into(), ..alloc }
}

struct Place {
    servers: Arc<Fake>,
    other: Arc<Agent>,
    dir: TempDir,
}

impl Place {
    fn new(name: &str, other: Other) -> Place {
        Place { servers: Fake::new(), other: Arc::new(Agent(Mutex::new(other))), dir: TempDir::new(name) }
    }

    async fn node(&self) -> Client {
        let config = Config { dev: false, ..config(&self.dir.0) };
        let services = AgentServices::new(self.servers.clone());
        Client::start(config, AgentServices { disk_reads: Some(self.other.clone()), ..services }).await.unwrap()
    }

    /// Has the servers start the successor; gives its ID.
    fn start(&self) -> String {
        let alloc = successor();
        let id = alloc.id.to_string();
        let disk = PreviousDisk { alloc_id: PREVIOUS.into(), token: "token".into(), ..PreviousDisk::default() };
        self.servers.known.lock().unwrap().disks.insert(id.clone(), disk);
        self.servers.write(alloc);
        id
    }

    async fn output(&self, id: &str) -> String {
        self.servers.status(id, ClientStatus::Complete).await;
        let alloc = self.dir.0.join("alloc").join(id).join("alloc");
        assert!(!alloc.join(".arrivals").exists());
        std::fs::read_to_string(alloc.join("logs/main.stdout.0")).unwrap()
    }
}

async fn stop(client: Client) {
    tokio::time::timeout(PATIENCE, client.shutdown()).await.expect("the node stops");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_allocation_starts_whatever_comes_from_the_other_node() {
    let good = archive(&[("alloc/data/x", "kept\n"), ("main/local/y", ""), ("other/local/z", "")]);
    let with = |last: (&str, &str)| archive(&[("alloc/data/x", "kept\n"), last]);
    let large = "x".repeat(1 << 20);
    let place = Place::new("arrives", Other::Sends(good.clone()));
    let client = place.node().await;
    assert_eq!(place.output(&place.start()).await, "kept\n");
    let error = format!("NOMAD-{PREVIOUS}-ERROR.log");
    for (what, other) in [
        ("refused", Other::Refuses),
        ("nothing", Other::Sends(Vec::new())),
        ("no archive", Other::Sends(vec![b'x'; 10_000])),
        ("a connection that breaks", Other::Breaks(good.clone())),
        ("a part", Other::Sends(good[..1024].to_vec())),
        ("an error of the other side", Other::Sends(with((&error, "disk error")))),
        ("too much", Other::Sends(with(("main/local/y", &large)))),
    ] {
        *place.other.0.lock().unwrap() = other;
        assert_eq!(place.output(&place.start()).await, "nothing\n", "{what}");
    }
    // Nobody knows where the disk is.
    let alloc = successor();
    place.servers.write(alloc.clone());
    assert_eq!(place.output(&alloc.id).await, "nothing\n");
    stop(client).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_transfer_ends_with_its_allocation_and_begins_again_with_the_agent() {
    let good = archive(&[("alloc/data/x", "kept\n")]);
    let place = Place::new("hangs", Other::Hangs(good[..1024].to_vec()));
    let client = place.node().await;
    let arriving = |id: &str| {
        let file = place.dir.0.join("alloc").join(id).join("alloc/.arrivals/alloc/data/x");
        async move { until("a part arrives", || file.exists().then_some(())).await }
    };
    let stopped = place.start();
    arriving(&stopped).await;
    place.servers.stop(&stopped);
    place.servers.status(&stopped, ClientStatus::Complete).await;
    let waiting = place.start();
    arriving(&waiting).await;
    stop(client).await;
    assert_eq!(place.servers.alloc(&waiting).client_status, ClientStatus::Pending);
    *place.other.0.lock().unwrap() = Other::Sends(good);
    let client = place.node().await;
    assert_eq!(place.output(&waiting).await, "kept\n");
    stop(client).await;
}

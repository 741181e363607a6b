//! What other agents send: calls and their answers, the frames of connections, and gossip.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use axum::body::Body;
use axum::http::{Request, Response};
use encamp_model::GossipKey;
use encamp_ops::codec;
use encamp_raft::{Answer, Message};
use encamp_rpc::call::Call;
use encamp_rpc::caller::Head;
use encamp_rpc::calls::*;
use encamp_rpc::gossip::{self, Identity, Keyring};
use encamp_rpc::listener::{Handler, Http2, Peer};
use encamp_rpc::{cost, rules, wire};
use futures_util::future::BoxFuture;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::runtime::Runtime;

use crate::pieces::Pieces;

/// Most that a message of a target may take when it is decoded, in bytes.
const MOST_COST: usize = 64 << 20;

/// Reads a value; one that can be read can be written, and read again as the same.
fn read<T: Serialize + DeserializeOwned>(data: &[u8]) -> bool {
    let Ok(value) = wire::read::<T>(data) else { return false };
    let written = codec::encode(&value).expect("what was read can be written");
    let again = wire::read::<T>(&written).expect("and read again");
    assert_eq!(codec::encode(&again).ok(), Some(written), "the value changes when it is written again");
    true
}

fn call<C: Call>(data: &[u8]) -> bool {
    match data.split_first() {
        Some((0, answer)) => read::<C::Result>(answer),
        Some((_, arguments)) => read::<C>(arguments),
        None => false,
    }
}

type Reader = fn(&[u8]) -> bool;

/// How the messages of each call are read.
const READERS: &[Reader] = &[
    read::<Message>,
    read::<Answer>,
    call::<Ping>,
    call::<Vouch>,
    call::<Meet>,
    call::<Register>,
    call::<UpdateStatus>,
    call::<SignIdentities>,
    call::<GetClientAllocs>,
    call::<GetAllocs>,
    call::<GetPreviousDisk>,
    call::<UpdateAlloc>,
    call::<EmitEvents>,
    call::<UpsertServices>,
    call::<DeleteService>,
    call::<DrainSelf>,
    call::<GetNode>,
    call::<ClaimCsiVolume>,
    call::<ReleaseCsiVolume>,
    call::<RunWorkerCall>,
    call::<Levels>,
    call::<ChangeKeys>,
    call::<CallNode>,
    call::<ForceLeave>,
];

/// The arguments of a call, or its answer, as the first bytes say. What is counted first bounds what decoding takes.
pub(crate) fn message(data: &[u8]) -> bool {
    let mut pieces = Pieces(data);
    let Some(read) = pieces.choose(READERS) else { return false };
    let fits = |bytes: &[u8]| cost::of(bytes, MOST_COST).is_ok();
    // Of calls, a byte says whether the rest is arguments or an answer.
    (fits(pieces.0) || fits(pieces.0.get(1..).unwrap_or_default())) && read(pieces.0)
}

/// Datagrams of other servers, each with its length in front. An odd first byte: this server has a key, and so have the
/// senders.
pub(crate) fn gossip(data: &[u8]) -> bool {
    let mut pieces = Pieces(data);
    let sealed = pieces.byte() % 2 == 1;
    let key = sealed.then(|| GossipKey::parse("MDEyMzQ1Njc4OWFiY2RlZg==").expect("a key"));
    let keyring = Keyring::in_memory(key).expect("a keyring");
    let own = Identity { name: "s1".into(), region: "global".into(), ..Identity::at(([127, 0, 0, 1], 24671).into()) };
    let mut datagrams = Vec::new();
    while let Some(content) = pieces.part() {
        datagrams.push(content);
    }
    // An agent that gossips for months hears of every address of its networks, but not of more members than datagrams
    // can name.
    let most = data.len();
    let known = gossip::members_after(own, &keyring, datagrams);
    assert!(known <= most.max(1), "{known} members of {most} bytes");
    known > 0
}

/// Reads a request as the RPC port does, without a server behind it.
struct Reading;

impl Handler for Reading {
    fn answer(self: Arc<Self>, _: Peer, request: Request<Body>) -> BoxFuture<'static, Response<Body>> {
        Box::pin(async move {
            let (head, body) = request.into_parts();
            let caller = Head::of(&head.headers);
            drop(format!("{caller:?}"));
            let method = wire::method(head.uri.path()).unwrap_or_default().to_string();
            let Ok(bytes) = wire::whole(body).await else {
                return wire::refusal(encamp_server::Error::bad("broken"));
            };
            match rules::of(&method) {
                Some(rule) if cost::of(&bytes, rule.longest).is_ok() => {
                    wire::response::<Ping>(wire::read::<Ping>(&bytes).map(|_| method))
                }
                _ => wire::refusal(encamp_server::Error::bad("refused")),
            }
        })
    }
}

/// The port of [`frames`], with its runtime.
struct Port {
    address: SocketAddr,
    _runtime: Runtime,
}

impl Port {
    fn new() -> Port {
        use encamp_http::serve::listener::{AcceptSettings, Listener};
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
        let runtime = runtime.expect("a runtime");
        let address = runtime.block_on(async {
            let listener = Listener::bind(&[([127, 0, 0, 1], 0).into()]).await.expect("a port");
            let address = listener.addresses().first().copied().expect("an address");
            std::mem::forget(listener.serve(Arc::new(Http2(Arc::new(Reading))), AcceptSettings::default()));
            address
        });
        Port { address, _runtime: runtime }
    }
}

/// The status 200 in the head of an answer, by its number in the table of HPACK.
const OK: &[u8] = &[0x88];
/// The preface of HTTP/2.
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// The bytes of a connection to the RPC port, behind the preface if the first byte is even. The port closes the
/// connection when it has answered what there is.
pub(crate) fn frames(data: &[u8]) -> bool {
    static PORT: OnceLock<Port> = OnceLock::new();
    let port = PORT.get_or_init(Port::new);
    let Some((first, rest)) = data.split_first() else { return false };
    let mut answer = Vec::new();
    let mut stream = TcpStream::connect(port.address).expect("a connection");
    stream.set_read_timeout(Some(Duration::from_secs(30))).expect("a limit");
    let preface = if first % 2 == 0 { PREFACE } else { &[] };
    // A port that refuses what came closes the connection before all is sent.
    let sent = stream.write_all(preface).and_then(|()| stream.write_all(rest));
    if sent.and_then(|()| stream.shutdown(Shutdown::Write)).is_ok() {
        let read = stream.take(1 << 24).read_to_end(&mut answer);
        let hangs =
            read.is_err_and(|e| matches!(e.kind(), std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut));
        assert!(!hangs, "the port keeps a connection that its peer has closed");
    }
    answer.windows(OK.len()).any(|w| w == OK)
}

//! Proofs of nodes, and revoked identities.

use std::time::Duration;

use super::node_auth::NodeProof;
use super::node_rpc;
use crate::Server;
use crate::endpoints::{identity, node, operator};
use crate::error::{Error, ErrorKind};
use crate::keyring::claims::Issue;
use crate::settings::{Enforcement, Settings};
use crate::storage::store::Store;
use crate::tests::{self, Dir, eventually, job, register, running};
use encamp_host::ids;
use encamp_model::*;
use encamp_telemetry::Metrics;

const ONE: &str = "11111111-0000-4000-8000-000000000001";
const OTHER: &str = "22222222-0000-4000-8000-000000000001";

fn kind<T>(result: Result<T, Error>) -> Result<(), ErrorKind> {
    result.map(drop).map_err(|e| e.kind)
}

fn with(secret: &str, identity: &str) -> NodeProof {
    NodeProof { secret_id: secret.into(), identity: identity.into() }
}

async fn join(server: &Server, id: &str) -> SecretString {
    let answer = node_rpc::register(server, tests::node(id), "").await.unwrap();
    node_rpc::update_status(server, id, &"secret".into(), answer.signed_identity.expose(), NodeStatus::Ready)
        .await
        .unwrap();
    answer.signed_identity
}

/// A token that is signed by a key of the cluster: `change` changes what it says of a node.
fn signed(server: &Server, at: i64, change: impl FnOnce(&mut Node)) -> String {
    let mut node = Node::clone(&server.snapshot().state().node(ONE).unwrap().node);
    change(&mut node);
    let issue = Issue { region: &server.settings().region, issuer: "", at };
    server.keyring().sign(&issue.node(&node, HOUR, ids::uuid())).unwrap().0
}

const HOUR: i64 = 3600 * SECOND;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_with_an_identity_is_known_by_it_alone() {
    let dir = Dir::new();
    let server = tests::start(&dir, &ids::uuid()).await;
    let own = join(&server, ONE).await;
    let foreign = join(&server, OTHER).await;
    let now = ids::now();
    let introduction = identity::introduce(&server, "", "default", 0).await.unwrap();
    let mut broken = own.expose().to_string();
    broken.replace_range(broken.len() - 4.., "AAAA");
    let other_cluster = {
        let dir = Dir::new();
        let server = tests::start(&dir, &ids::uuid()).await;
        let identity = join(&server, ONE).await;
        server.shutdown().await;
        identity
    };
    let read = |proof: NodeProof| node_rpc::own_node(&server, ONE, &proof);
    // The identity counts, the secret does not.
    assert_eq!(kind(read(with("wrong", own.expose()))), Ok(()));
    assert_eq!(kind(read(with("secret", ""))), Ok(()));
    assert_eq!(kind(read(with("wrong", ""))), Err(ErrorKind::PermissionDenied));
    let refused = [
        ("another node's", foreign.expose().to_string()),
        ("expired", signed(&server, now - 2 * HOUR, |_| {})),
        ("of the future", signed(&server, now + HOUR, |_| {})),
        ("of another pool", signed(&server, now, |n| n.node_pool = "gpu".into())),
        ("of another ID", signed(&server, now, |n| n.id = OTHER.into())),
        ("of another key", other_cluster.expose().to_string()),
        ("an introduction", introduction),
        ("with a wrong signature", broken),
        ("no token", "x".into()),
    ];
    for (what, identity) in refused {
        assert_eq!(kind(read(with("secret", &identity))), Err(ErrorKind::PermissionDenied), "{what}");
        // It does not keep the node from getting a new one.
        let renewed = node_rpc::update_status(&server, ONE, &own_proof(&own), &identity, NodeStatus::Ready).await;
        assert!(!renewed.unwrap().signed_identity.is_empty(), "{what} does not last");
    }
    let kept = node_rpc::update_status(&server, ONE, &own_proof(&own), own.expose(), NodeStatus::Ready).await;
    assert!(kept.unwrap().signed_identity.is_empty(), "a valid identity is kept");
    server.shutdown().await;
}

fn own_proof(identity: &SecretString) -> NodeProof {
    with("", identity.expose())
}

async fn start_with(dir: &Dir, enforcement: Enforcement) -> Server {
    let mut settings = Settings { num_schedulers: 2, ..Settings::new(&ids::uuid(), "server-1", dir.0.clone()) };
    settings.introduction.enforcement = enforcement;
    let server = Server::start(settings, Metrics::default()).await.unwrap();
    server.wait_ready().await.unwrap();
    assert!(server.keyring().wait_active(Duration::from_secs(60)).await);
    server
}

fn named(secret: &str) -> Node {
    Node { secret_id: secret.into(), ..tests::node(ONE) }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_revoked_identity_is_refused_until_a_new_introduction() {
    for enforcement in [Enforcement::None, Enforcement::Warn, Enforcement::Strict] {
        let dir = Dir::new();
        let server = start_with(&dir, enforcement).await;
        let early = identity::introduce(&server, "", "default", 0).await.unwrap();
        let first = node_rpc::register(&server, tests::node(ONE), &early).await.unwrap().signed_identity;
        node_rpc::update_status(&server, ONE, &own_proof(&first), first.expose(), NodeStatus::Ready).await.unwrap();
        register(&server, job("web", 2)).await;
        eventually("placement", || running(&server, "web") == 2).await;
        let mut saved = Vec::new();
        Store::write_snapshot(&server.snapshot(), &mut saved).unwrap();
        let (_, seen) = node_rpc::client_allocs(&server, ONE, &own_proof(&first), 0, Duration::ZERO).await.unwrap();
        let waiting = tokio::spawn({
            let (server, proof) = (server.clone(), own_proof(&first));
            async move { node_rpc::client_allocs(&server, ONE, &proof, seen + 1000, Duration::from_secs(300)).await }
        });
        eventually("the node to wait", || !server.store().watches().is_empty()).await;

        let answer = node::revoke_identity(&server, ONE).await.unwrap();
        assert_eq!(answer.eval_ids.len(), 1, "its job is evaluated");
        let waited = tokio::time::timeout(Duration::from_secs(20), waiting).await.unwrap().unwrap();
        assert_eq!(kind(waited), Err(ErrorKind::NodeRevoked), "{enforcement:?}: a wait ends");
        let stored = server.snapshot().state().node(ONE).unwrap().node.clone();
        assert_eq!(stored.status, NodeStatus::Down);
        assert_eq!(stored.events.last().unwrap().message, "Node identity revoked");
        assert!(!server.queues().heartbeats().contains(ONE));

        for purged in [false, true] {
            if purged {
                node::purge(&server, ONE).await.unwrap();
            }
            // The thief has the secret, the identity and the introduction token.
            let expected = if purged { ErrorKind::NodeNotFound } else { ErrorKind::NodeRevoked };
            for proof in [with("secret", first.expose()), with("secret", ""), with("other", first.expose())] {
                let beat = node_rpc::update_status(&server, ONE, &proof, first.expose(), NodeStatus::Ready).await;
                assert_eq!(kind(beat), Err(expected), "{enforcement:?}");
            }
            let attempts = [
                (named("secret"), "", "the secret"),
                (named("secret"), first.expose(), "secret and identity"),
                (named("secret"), early.as_str(), "secret and introduction"),
                (named("new"), "", "another secret"),
                (named("new"), early.as_str(), "another secret, and an introduction of before"),
                (named("new"), first.expose(), "another secret and the identity"),
                (Node { id: OTHER.into(), ..named("secret") }, early.as_str(), "the secret under another ID"),
            ];
            for (node, token, what) in attempts {
                let refused = node_rpc::register(&server, node, token).await;
                assert_eq!(kind(refused), Err(ErrorKind::NodeRevoked), "{enforcement:?}, purged: {purged}: {what}");
            }
            // A backup of before the revocation does not help either.
            if !purged {
                operator::restore(&server, saved.clone()).await.unwrap();
                let refused = node_rpc::register(&server, named("secret"), &early).await;
                assert_eq!(kind(refused), Err(ErrorKind::NodeRevoked), "{enforcement:?}: restored");
            }
        }
        let late = identity::introduce(&server, "", "default", 0).await.unwrap();
        let still = node_rpc::register(&server, named("secret"), &late).await;
        assert_eq!(kind(still), Err(ErrorKind::NodeRevoked), "{enforcement:?}: the secret is refused for good");
        let back = node_rpc::register(&server, named("new"), &late).await.unwrap().signed_identity;
        let beat = node_rpc::update_status(&server, ONE, &own_proof(&back), back.expose(), NodeStatus::Ready).await;
        assert!(beat.unwrap().signed_identity.is_empty(), "{enforcement:?}: its new identity is valid");
        assert_eq!(kind(node_rpc::own_node(&server, ONE, &own_proof(&first))), Err(ErrorKind::NodeRevoked));
        assert!(
            server.resolve(first.expose(), ids::now()).is_err() && server.resolve(back.expose(), ids::now()).is_ok()
        );

        // A snapshot keeps the revocation.
        let mut saved = Vec::new();
        Store::write_snapshot(&server.snapshot(), &mut saved).unwrap();
        operator::restore(&server, saved).await.unwrap();
        let refused = node_rpc::register(&server, named("secret"), &late).await;
        assert_eq!(kind(refused), Err(ErrorKind::NodeRevoked), "{enforcement:?}: snapshot");
        assert_eq!(server.snapshot().node_revocation(ONE).unwrap().secret_hashes.len(), 1);
        server.shutdown().await;
    }
}

//! Messages that no server of the cluster has sent, and how a panic of consensus appears from outside.

use std::sync::Arc;
use std::time::Duration;

use openraft::Vote;
use openraft::raft::AppendEntriesRequest;

use super::support::{Recorder, TempDir, alone, led, until};
use crate::network::NoTransport;
use crate::types::{ServerId, Types};
use crate::{Consensus, Invalid, Message};

async fn start(dir: &TempDir) -> Consensus {
    let started = Consensus::start(alone(dir), Arc::new(Recorder::default()), Arc::new(NoTransport)).await;
    let node = started.expect("starts");
    led(&node).await;
    node
}

fn append(term: u64, leader: ServerId) -> AppendEntriesRequest<Types> {
    AppendEntriesRequest {
        vote: Vote::new_committed(term, leader),
        prev_log_id: None,
        entries: Vec::new(),
        leader_commit: None,
    }
}

#[tokio::test]
async fn a_second_leader_of_a_term_is_refused_before_consensus_sees_it() {
    let dir = TempDir::new();
    let node = start(&dir).await;
    let term = node.stats().term;
    let refused = node.handle(2.into(), Message::Append(append(term, 2.into()))).await;
    assert_eq!(refused.err(), Some(Invalid::SecondLeader));
    assert_eq!(node.stopped(), None);
    assert!(node.leads());
    node.shutdown().await.expect("stops");
}

#[tokio::test]
async fn consensus_that_panicked_has_stopped_and_says_so() {
    let dir = TempDir::new();
    let node = start(&dir).await;
    let ended = tokio::spawn({
        let node = node.clone();
        async move { node.ended().await }
    });
    let term = node.stats().term;
    // The messages that the checks reject: openraft panics.
    let answer = node.raft().append_entries(append(term, 2.into())).await;
    assert!(answer.is_err(), "{answer:?}");
    until("it has stopped", || node.stopped().is_some()).await;
    assert!(!node.leads() && node.leadership().borrow().leader.is_none());
    let why = tokio::time::timeout(Duration::from_secs(20), ended).await.expect("in time").expect("no panic");
    assert!(!why.is_empty() && node.stopped() == Some(why));
    let _ = node.shutdown().await;
}

#[tokio::test]
async fn consensus_that_is_shut_down_has_not_ended_by_itself() {
    let dir = TempDir::new();
    let node = start(&dir).await;
    node.shutdown().await.expect("stops");
    let ended = tokio::time::timeout(Duration::from_millis(300), node.ended()).await;
    assert!(ended.is_err(), "{ended:?}");
}

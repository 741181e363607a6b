//! Entries that take longer than openraft waits.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use openraft::raft::AppendEntriesResponse;
use openraft::{CommittedLeaderId, Entry, EntryPayload, LogId, Vote};

use super::support::peer;
use crate::sending::{Append, Sendings, Way};
use crate::types::EntryId;
use crate::{Answer, Message, Peer, Pending, ServerId, Transport};

const LIMIT: Duration = Duration::from_millis(100);

/// Answers heartbeats at once, and entries after a delay given for each message; without a delay, never.
#[derive(Default)]
struct Slow {
    entries: Mutex<Vec<usize>>,
    times: Vec<u64>,
    signs: AtomicUsize,
}

impl Transport for Slow {
    fn send<'a>(&'a self, _: ServerId, _: &'a Peer, message: Message) -> Pending<'a> {
        let Message::Append(request) = message else { panic!("only entries are sent") };
        Box::pin(async move {
            if request.entries.is_empty() {
                self.signs.fetch_add(1, Ordering::Relaxed);
            } else {
                let number = {
                    let mut sent = self.entries.lock().unwrap();
                    sent.push(request.entries.len());
                    sent.len() - 1
                };
                let Some(ms) = self.times.get(number) else { return std::future::pending().await };
                tokio::time::sleep(Duration::from_millis(*ms)).await;
            }
            Ok(Answer::Append(Ok(AppendEntriesResponse::Success)))
        })
    }
}

fn id(index: u64) -> EntryId {
    LogId::new(CommittedLeaderId::new(1, 0.into()), index)
}

/// Entries 11 to `to`.
fn request(to: u64) -> Append {
    let entries = (11..=to).map(|i| Entry { log_id: id(i), payload: EntryPayload::Blank }).collect();
    Append { vote: Vote::new_committed(1, 0.into()), prev_log_id: Some(id(10)), leader_commit: Some(id(10)), entries }
}

fn to_server(times: &[u64]) -> (Arc<Slow>, Arc<Way>) {
    let slow = Arc::new(Slow { times: times.to_vec(), ..Slow::default() });
    (slow.clone(), Arc::new(Way { transport: slow, contacts: Arc::default(), id: 1.into(), peer: peer(1) }))
}

/// The result of a call, as openraft makes it.
async fn call(sendings: &mut Sendings, way: &Arc<Way>, to: u64) -> Option<AppendEntriesResponse<ServerId>> {
    match tokio::time::timeout(LIMIT, sendings.append(way, request(to), LIMIT)).await {
        Ok(Ok(Answer::Append(Ok(answer)))) => Some(answer),
        Ok(Ok(_)) => panic!("another answer"),
        Ok(Err(_)) | Err(_) => None,
    }
}

#[tokio::test(start_paused = true)]
async fn entries_are_sent_once_however_long_they_take() {
    let (slow, way) = to_server(&[450, 20]);
    let mut sendings = Sendings::default();
    for _ in 0..4 {
        let so_far = AppendEntriesResponse::PartialSuccess(Some(id(10)));
        assert_eq!(call(&mut sendings, &way, 12).await, Some(so_far), "the other server lives, and has nothing new");
    }
    assert_eq!((slow.entries.lock().unwrap().clone(), slow.signs.load(Ordering::Relaxed)), (vec![2], 4));
    // There is more by now: that is not what arrived.
    tokio::time::sleep(LIMIT).await;
    assert_eq!(call(&mut sendings, &way, 14).await, Some(AppendEntriesResponse::PartialSuccess(Some(id(12)))));
    assert_eq!(call(&mut sendings, &way, 14).await, Some(AppendEntriesResponse::Success));
    assert_eq!(*slow.entries.lock().unwrap(), [2, 4]);
}

#[tokio::test(start_paused = true)]
async fn lost_entries_are_sent_again() {
    let (slow, way) = to_server(&[1_000_000, 1_000_000, 10]);
    let mut sendings = Sendings::default();
    let begun = tokio::time::Instant::now();
    let mut seen = Vec::new();
    while call(&mut sendings, &way, 12).await != Some(AppendEntriesResponse::Success) {
        seen.push(slow.entries.lock().unwrap().len());
    }
    let times = |n| seen.iter().filter(|s| **s == n).count();
    // After ten limits, then after twenty; each call took nine tenths of one.
    assert_eq!((times(1), times(2)), (12, 23), "{:?}", begun.elapsed());
    assert_eq!(*slow.entries.lock().unwrap(), [2, 2, 2]);
}

#[tokio::test(start_paused = true)]
async fn the_first_entries_of_a_log_are_waited_for() {
    let (slow, way) = to_server(&[150]);
    let mut sendings = Sendings::default();
    let first = || Append { prev_log_id: None, ..request(12) };
    assert!(
        sendings.append(&way, first(), LIMIT).await.is_err(),
        "there is nothing that could be said to have arrived"
    );
    let answer = sendings.append(&way, first(), LIMIT).await;
    assert!(matches!(answer, Ok(Answer::Append(Ok(AppendEntriesResponse::Success)))));
    assert_eq!((slow.entries.lock().unwrap().len(), slow.signs.load(Ordering::Relaxed)), (1, 0));
}

#[tokio::test(start_paused = true)]
async fn what_is_not_asked_for_any_more_is_taken_back() {
    let (slow, way) = to_server(&[1_000_000, 10]);
    let mut sendings = Sendings::default();
    call(&mut sendings, &way, 14).await;
    // A shorter log: what was sent would say too much.
    assert_eq!(call(&mut sendings, &way, 12).await, Some(AppendEntriesResponse::Success));
    assert_eq!(*slow.entries.lock().unwrap(), [4, 2]);
}

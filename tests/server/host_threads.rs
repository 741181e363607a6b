//! Threads beside the runtime, values that tasks watch, and random IDs (`encamp_host`).

use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use encamp_host::ids;
use encamp_host::threads::{NoMessage, in_background, receive_within};
use encamp_host::watch_value::{Closed, Sender};
use rustix::process::getpriority_process;

/// The priority of work in the background.
const NICE: i32 = 10;

#[tokio::test]
async fn work_in_the_background_returns_its_result() {
    let priority = || getpriority_process(None).expect("known");
    let here = priority();
    assert_eq!(in_background(priority).await, Ok(here.max(NICE)));
    assert_eq!(priority(), here);
    let panicked = in_background(|| panic!("on purpose")).await.map_err(|e| e.to_string());
    assert_eq!(panicked, Err::<(), _>("the task panicked".to_string()));
}

#[test]
fn a_message_is_received_within_a_time() {
    let (sender, mut receiver) = tokio::sync::mpsc::channel(1);
    let short = Duration::from_millis(1);
    assert_eq!(receive_within(&mut receiver, short), Err(NoMessage::Late));
    let sends = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(20));
        sender.blocking_send(7)
    });
    assert_eq!(receive_within(&mut receiver, Duration::from_secs(60)), Ok(7));
    assert_eq!(sends.join().expect("ended"), Ok(()));
    assert_eq!(receive_within(&mut receiver, short), Err(NoMessage::Never));
}

#[test]
fn uuids_have_the_standard_form() {
    let id = ids::uuid();
    let parts: Vec<usize> = id.split('-').map(str::len).collect();
    assert_eq!(parts, [8, 4, 4, 4, 12]);
    assert_eq!(&id[14..15], "4");
    assert_ne!(id, ids::uuid());
    assert!(ids::random_below(0) == 0 && ids::random_below(3) < 3);
}

#[tokio::test]
async fn a_change_of_a_value_is_seen_once() {
    let sender = Sender::new(1);
    let mut receiver = sender.subscribe();
    assert!(futures_util::poll!(pin!(receiver.changed())).is_pending());
    sender.send(2);
    sender.send(3);
    assert_eq!(receiver.changed().await, Ok(()));
    assert_eq!(*receiver.borrow(), 3);
    assert!(futures_util::poll!(pin!(receiver.changed())).is_pending());
    sender.send_if_modified(|_| false);
    assert!(futures_util::poll!(pin!(receiver.changed())).is_pending());
    drop(sender);
    assert_eq!(receiver.changed().await, Err(Closed));
    assert_eq!((receiver.wait_for(|v| *v == 3).await, receiver.wait_for(|v| *v == 4).await), (Ok(3), Err(Closed)));
}

#[tokio::test]
async fn receivers_are_woken_in_the_order_in_which_they_waited() {
    let (sender, woken) = (Sender::new(0), Arc::new(Mutex::new(Vec::new())));
    let mut waiting = tokio::task::JoinSet::new();
    for n in 0..20 {
        let (mut receiver, woken) = (sender.subscribe(), woken.clone());
        waiting.spawn(async move {
            receiver.wait_for(|v| *v == 1).await.expect("the sender is there");
            woken.lock().expect("no panic").push(n);
        });
    }
    tokio::task::yield_now().await;
    sender.send(1);
    waiting.join_all().await;
    assert_eq!(*woken.lock().expect("no panic"), (0..20).collect::<Vec<_>>());
}

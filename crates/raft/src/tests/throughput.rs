//! How many proposals a second one voter takes, every one durable. Run by hand:
//! `cargo test --release --lib raft::tests::throughput -- --ignored --nocapture`.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::support::{Recorder, TempDir, alone, led};
use crate::{Consensus, NoTransport};
use encamp_ops::Operation;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "a measurement"]
async fn proposals_per_second() {
    for proposers in [1, 16, 256] {
        let dir = TempDir::new();
        let begun = Instant::now();
        let machine = Arc::new(Recorder::default());
        let node = Consensus::start(alone(&dir), machine, Arc::new(NoTransport)).await.expect("starts");
        led(&node).await;
        let elected = begun.elapsed();
        let (begun, end) = (Instant::now(), Instant::now() + Duration::from_secs(3));
        let propose = |_| {
            let node = node.clone();
            tokio::spawn(async move {
                let mut count = 0_u64;
                while Instant::now() < end {
                    node.propose(Operation::Barrier).await.expect("applied");
                    count += 1;
                }
                count
            })
        };
        let mut count = 0;
        for task in (0..proposers).map(propose).collect::<Vec<_>>() {
            count += task.await.expect("joined");
        }
        let rate = count as f64 / begun.elapsed().as_secs_f64();
        println!("{proposers:>4} proposers: {rate:>8.0} proposals/s; elected after {elected:?}");
        node.shutdown().await.expect("stops");
    }
}

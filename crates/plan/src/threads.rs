//! Work on many items in several threads. Results do not depend on how many there are.

use std::sync::atomic::{AtomicUsize, Ordering};

/// More threads than that are not started.
const MOST_THREADS: usize = 16;
/// The number of parts for each thread: threads that finish early take more of them.
const PARTS_PER_THREAD: usize = 16;

/// What `work` gives for each item, in the order of the items.
pub(crate) fn in_threads<'a, T: Sync, R: Send>(items: &'a [T], work: impl Fn(&'a T) -> R + Sync) -> Vec<R> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(MOST_THREADS).min(items.len());
    if threads <= 1 {
        return items.iter().map(work).collect();
    }
    let size = items.len().div_ceil(threads * PARTS_PER_THREAD);
    let parts: Vec<&[T]> = items.chunks(size).collect();
    let next = AtomicUsize::new(0);
    let take = || {
        let mut done = Vec::new();
        while let Some((i, part)) = {
            let i = next.fetch_add(1, Ordering::Relaxed);
            parts.get(i).map(|part| (i, part))
        } {
            done.push((i, part.iter().map(&work).collect::<Vec<R>>()));
        }
        done
    };
    let mut done = std::thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(take)).collect();
        let mut done = take();
        for other in others {
            done.extend(other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        }
        done
    });
    done.sort_unstable_by_key(|(i, _)| *i);
    done.into_iter().flat_map(|(_, results)| results).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_in_the_order_of_the_items() {
        for count in [0, 1, 2, 3, 100, 1001] {
            let items: Vec<usize> = (0..count).collect();
            assert_eq!(in_threads(&items, |n| n * 2), items.iter().map(|n| n * 2).collect::<Vec<_>>());
        }
    }
}

//! Time and memory that one input takes.

use std::alloc::{GlobalAlloc, Layout};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Instant;

/// Most memory an input of at most 1 MB may take, in bytes.
pub const MAX_MEMORY: usize = 200 << 20;
/// Most time it may take, in seconds of processor time, in a build with optimisation.
pub const MAX_SECONDS: f64 = 1.0;
/// How much slower builds with checks may be: without optimisation, and with the fuzzer's counters.
pub const FACTOR: f64 = if cfg!(fuzzing) {
    4.0
} else if cfg!(debug_assertions) {
    15.0
} else {
    1.0
};

static NOW: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

/// An allocator that counts what is allocated.
pub struct Counting<A>(pub A);

fn add(size: usize) {
    let now = NOW.fetch_add(size, Relaxed).wrapping_add(size);
    PEAK.fetch_max(now, Relaxed);
}

fn remove(size: usize) {
    NOW.fetch_sub(size, Relaxed);
}

// SAFETY: all calls are passed on unchanged; counting touches no memory.
unsafe impl<A: GlobalAlloc> GlobalAlloc for Counting<A> {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let p = unsafe { self.0.alloc(layout) };
        if !p.is_null() {
            add(layout.size());
        }
        p
    }
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        let p = unsafe { self.0.alloc_zeroed(layout) };
        if !p.is_null() {
            add(layout.size());
        }
        p
    }
    unsafe fn dealloc(&self, p: *mut u8, layout: Layout) {
        unsafe { self.0.dealloc(p, layout) };
        remove(layout.size());
    }
    unsafe fn realloc(&self, p: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        let new = unsafe { self.0.realloc(p, layout, size) };
        if !new.is_null() {
            // While a block moves, both may exist.
            add(size);
            remove(layout.size());
        }
        new
    }
}

/// Nanoseconds this thread has run, so that a busy machine does not count; `None` where the system does not tell.
fn ran() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    text.split_whitespace().next()?.parse().ok()
}

/// What one input took.
#[derive(Debug, Clone, Copy)]
pub struct Cost {
    /// Seconds of processor time.
    pub seconds: f64,
    /// Bytes beyond what was allocated before.
    pub memory: usize,
}

/// Runs something and measures it. Memory is 0 unless [`Counting`] is the allocator.
pub fn measure(run: impl FnOnce()) -> Cost {
    let before = NOW.load(Relaxed);
    PEAK.store(before, Relaxed);
    let (start, wall) = (ran(), Instant::now());
    run();
    let seconds = match (start, ran()) {
        (Some(start), Some(end)) => (end - start) as f64 / 1e9,
        _ => wall.elapsed().as_secs_f64(),
    };
    Cost { seconds, memory: PEAK.load(Relaxed).saturating_sub(before) }
}

impl Cost {
    /// What is wrong with the cost, if anything.
    pub fn excess(&self) -> Option<String> {
        let limit = MAX_SECONDS * FACTOR;
        if self.seconds > limit {
            return Some(format!("took {:.2} s, more than {limit} s", self.seconds));
        }
        if self.memory > MAX_MEMORY {
            return Some(format!("took {} MB of memory, more than {} MB", self.memory >> 20, MAX_MEMORY >> 20));
        }
        None
    }
}

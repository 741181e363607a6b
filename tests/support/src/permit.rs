//! A permit for the processor.
//!
//! More tests run at a time than there are processors, since most of them wait. A test that computes for seconds holds
//! the permit: such tests run one after the other, beside those that wait, whose time limits hold for that.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Released when it is dropped.
#[must_use = "it is released when it is dropped"]
#[derive(Debug)]
pub struct Permit(#[expect(dead_code, reason = "dropped with the permit")] MutexGuard<'static, ()>);

/// Waits for the permit. A thread that holds it must not ask for it again.
pub fn processor() -> Permit {
    static PROCESSOR: Mutex<()> = Mutex::new(());
    // A test that failed has released it as well.
    Permit(PROCESSOR.lock().unwrap_or_else(PoisonError::into_inner))
}

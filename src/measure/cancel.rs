//! A flag that asks a run to end, shared between the threads of a worker.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::verdict::{Class, Outcome, Verdict};

/// Set from anywhere, looked at between steps and inside long ones.
#[derive(Clone, Debug, Default)]
pub struct Cancel(Arc<AtomicBool>);

impl Cancel {
    pub fn new() -> Self {
        Self::default()
    }

    pub fn set(&self) {
        self.0.store(true, Ordering::SeqCst);
    }

    /// Makes the flag ready for the next job.
    pub fn clear(&self) {
        self.0.store(false, Ordering::SeqCst);
    }

    pub fn is_set(&self) -> bool {
        self.0.load(Ordering::SeqCst)
    }

    /// The flag itself, for devices that look at it while a kernel runs.
    pub fn flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.0)
    }

    /// `Err` of class `cancelled` once the flag is set.
    pub fn check(&self) -> Outcome<()> {
        if self.is_set() {
            return Verdict::new(Class::Cancelled, "the run was cancelled").fail();
        }
        Ok(())
    }
}

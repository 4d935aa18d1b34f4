//! The clock: events around launches whose cost is hidden behind a blocking kernel, with the L2 flushed before each sample.
//!
//! One sample, all in one stream: zero scratch, flush, a kernel that spins on a host flag, event, launches, event; only when all
//! of it is queued does the host set the flag. So the time between the events is the device's, not the host's (nvbench's method).

use std::time::{Duration, Instant};

use super::driver::{self, Event, Flags, Function, Geometry, Slot, Stream};
use super::judge::Judge;

/// The flush buffer in units of the L2's size; SOL-ExecBench and flashinfer use 2 as well.
const FLUSH_FACTOR: u64 = 2;
/// Nanoseconds after which the blocking kernel gives up waiting for the host.
const BLOCK_LIMIT_NS: u64 = 2_000_000_000;
/// The host waits this long for an event before it yields its core between queries.
const SPIN: Duration = Duration::from_millis(2);
/// Flag words: the ticket that the host has reached, and the last one that the device gave up on.
const REACHED: usize = 0;
const LATE: usize = 1;

/// How the L2 is made cold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Flush {
    /// Not at all.
    Warm,
    /// Written, then another buffer read: nothing of the kernel's is left, and no dirty lines either, whose write-back the
    /// kernel would pay for.
    Clean,
    /// Written only, as `cudaMemset` does: the lines are dirty.
    Dirty,
}

/// A launch ready to be queued.
pub(super) struct Ready {
    pub(super) function: Function,
    pub(super) geometry: Geometry,
    pub(super) slots: Vec<Slot>,
}

impl Ready {
    pub(super) fn queue(&mut self, stream: Stream) -> driver::Result<()> {
        driver::launch(self.function, &self.geometry, &mut self.slots, stream)
    }
}

/// How waiting ended badly.
pub(super) enum Trouble {
    Driver(driver::Failure),
    /// Still not done after the limit.
    Hung,
    /// The host took so long to queue the launches that the blocking kernel gave up.
    Late,
}

impl From<driver::Failure> for Trouble {
    fn from(failure: driver::Failure) -> Self {
        Self::Driver(failure)
    }
}

#[derive(Debug)]
pub(super) struct Clock {
    start: Event,
    end: Event,
    flags: Flags,
    ticket: u32,
    /// Two buffers of this many bytes, one after the other; 0 until a cold sample is asked for.
    flush: u64,
    flush_bytes: u64,
    /// What the clock shows for nothing at all, microseconds; measured when first needed.
    cost: Option<f64>,
}

/// Empty intervals measured for the clock's own cost.
const COST_SAMPLES: usize = 101;

impl Clock {
    pub(super) fn new(l2_bytes: u64) -> driver::Result<Self> {
        Ok(Self {
            start: Event::new()?,
            end: Event::new()?,
            flags: Flags::new()?,
            ticket: 0,
            flush: 0,
            flush_bytes: (l2_bytes * FLUSH_FACTOR).next_multiple_of(256),
            cost: None,
        })
    }

    fn flush(&mut self, how: Flush, judge: &Judge) -> driver::Result<()> {
        if how == Flush::Warm {
            return Ok(());
        }
        if self.flush == 0 {
            self.flush = driver::alloc(2 * self.flush_bytes)?;
            judge.flush_write(self.flush, 2 * self.flush_bytes, 0)?;
        }
        judge.flush_write(self.flush, self.flush_bytes, u64::from(self.ticket))?;
        if how == Flush::Clean {
            judge.flush_read(self.flush + self.flush_bytes, self.flush_bytes, self.flush)?;
        }
        Ok(())
    }

    /// What two events show with nothing between them, microseconds: the median of many. Every sample is less this, as it
    /// is the clock's time and not the kernel's.
    pub(super) fn cost(&mut self, judge: &Judge, stream: Stream, limit: Duration) -> Result<f64, Trouble> {
        if let Some(cost) = self.cost {
            return Ok(cost);
        }
        let mut nothing = || Ok(());
        let mut shown = Vec::with_capacity(COST_SAMPLES);
        for _ in 0..COST_SAMPLES {
            shown.push(self.elapsed(Flush::Warm, judge, stream, limit, &mut nothing, &mut || Ok(()))?);
        }
        shown.sort_by(f64::total_cmp);
        Ok(*self.cost.insert(shown[COST_SAMPLES / 2]))
    }

    /// One sample, microseconds, less the clock's own cost. `before` queues work outside the clock, `work` what is measured.
    pub(super) fn sample(
        &mut self,
        how: Flush,
        judge: &Judge,
        stream: Stream,
        limit: Duration,
        before: &mut dyn FnMut() -> driver::Result<()>,
        work: &mut dyn FnMut() -> driver::Result<()>,
    ) -> Result<f64, Trouble> {
        let cost = self.cost(judge, stream, limit)?;
        let elapsed = self.elapsed(how, judge, stream, limit, before, work)?;
        Ok((elapsed - cost).max(0.0))
    }

    /// What the events show, microseconds.
    fn elapsed(
        &mut self,
        how: Flush,
        judge: &Judge,
        stream: Stream,
        limit: Duration,
        before: &mut dyn FnMut() -> driver::Result<()>,
        work: &mut dyn FnMut() -> driver::Result<()>,
    ) -> Result<f64, Trouble> {
        before()?;
        self.flush(how, judge)?;
        self.ticket = self.ticket.wrapping_add(1);
        let ticket = self.ticket;
        judge.block(
            self.flags.address(REACHED),
            ticket,
            BLOCK_LIMIT_NS,
            self.flags.address(LATE),
        )?;
        let queued = self
            .start
            .record(stream)
            .and_then(|()| work())
            .and_then(|()| self.end.record(stream));
        // Whatever happened: the blocking kernel must not keep the stream.
        self.flags.store(REACHED, ticket);
        queued?;
        wait(limit, || self.end.done())?;
        if self.flags.load(LATE) == ticket {
            return Err(Trouble::Late);
        }
        Ok(self.start.microseconds_to(self.end)?)
    }

    /// One sample without the blocking kernel, to show what it hides.
    pub(super) fn sample_unblocked(
        &mut self,
        stream: Stream,
        limit: Duration,
        work: &mut dyn FnMut() -> driver::Result<()>,
    ) -> Result<f64, Trouble> {
        self.start.record(stream)?;
        work()?;
        self.end.record(stream)?;
        wait(limit, || self.end.done())?;
        Ok(self.start.microseconds_to(self.end)?)
    }

    pub(super) fn destroy(&self) -> driver::Result<()> {
        self.start.destroy()?;
        self.end.destroy()?;
        if self.flush != 0 {
            driver::free(self.flush)?;
        }
        self.flags.free()
    }
}

/// Polls until `done`, at most for `limit`.
pub(super) fn wait(limit: Duration, mut done: impl FnMut() -> driver::Result<bool>) -> Result<(), Trouble> {
    let start = Instant::now();
    while !done()? {
        let waited = start.elapsed();
        if waited > limit {
            return Err(Trouble::Hung);
        }
        if waited > SPIN {
            std::thread::sleep(Duration::from_micros(100));
        } else {
            std::hint::spin_loop();
        }
    }
    Ok(())
}

//! What the CTAs of a cluster share besides their memories: the cluster barrier.

/// The barrier of `barrier.cluster`, and who still lives.
#[derive(Debug, Default)]
pub(super) struct ClusterState {
    /// Threads that have not exited, over all CTAs.
    pub live: u32,
    /// Threads that arrived in the current phase.
    pub arrived: u32,
    /// Completed phases.
    pub phase: u64,
}

impl ClusterState {
    /// Notes arrivals; the phase completes once every live thread has arrived.
    pub(super) fn arrive(&mut self, threads: u32) {
        self.arrived += threads;
        self.settle();
    }

    /// Notes that threads exited.
    pub(super) fn leave(&mut self, live: u32) {
        self.live = live;
        self.settle();
    }

    fn settle(&mut self) {
        if self.arrived > 0 && self.arrived >= self.live {
            self.arrived = 0;
            self.phase += 1;
        }
    }
}

//! The grid: clusters of CTAs handed to host threads, run, and set aside while they wait for each other.
//!
//! CTAs start in order. A CTA that only polls (a grid barrier, a flag of another CTA) is set aside and the next started,
//! as long as the device would hold that many at once; then the ones set aside take turns.

use std::collections::VecDeque;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use super::cluster::ClusterState;
use super::count::Counts;
use super::cta::{Cta, Round};
use super::exec::Job;
use super::fault::{Fault, FaultKind};
use super::launch::LaunchReport;
use super::shared::Shared;
use super::warp::Surroundings;

/// Rounds of pure polling before a cluster is set aside.
const PATIENCE: u32 = 2;
/// Warp instructions after which a cluster is set aside even though it is busy, so that others start.
const LONG: u64 = 50_000_000;

/// Limits of a launch.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits<'a> {
    pub(super) steps: u64,
    pub(super) cancel: &'a AtomicBool,
    /// CTAs that the device would hold at once.
    pub(super) resident: u64,
}

/// What the host threads share.
struct Progress {
    /// The next cluster to start.
    next: AtomicU64,
    /// Clusters that have started and not finished.
    open: AtomicU64,
    steps: AtomicU64,
    /// The lowest cluster that has failed; clusters behind it stop.
    failed: AtomicU64,
    fault: Mutex<Option<(u64, Box<Fault>)>>,
}

/// A cluster in some state of execution.
#[derive(Default)]
struct Cluster {
    index: u64,
    ctas: Vec<Cta>,
    done: Vec<bool>,
    shared: Vec<Shared>,
    state: ClusterState,
    printed: String,
}

/// Runs all CTAs of a launch.
pub(super) fn run(job: &Job<'_>, threads: usize, limits: &Limits<'_>) -> Result<LaunchReport, Box<Fault>> {
    let per_cluster: u64 = job.cluster.iter().map(|&n| u64::from(n)).product();
    let clusters = job.grid.iter().map(|&n| u64::from(n)).product::<u64>() / per_cluster;
    let threads = threads.clamp(1, usize::try_from(clusters).unwrap_or(usize::MAX).max(1));
    let progress = Progress {
        next: AtomicU64::new(0),
        open: AtomicU64::new(0),
        steps: AtomicU64::new(0),
        failed: AtomicU64::new(u64::MAX),
        fault: Mutex::new(None),
    };
    let work = || Worker::new(job, limits, &progress, clusters, per_cluster).run();
    let results: Vec<(Counts, Vec<(u64, String)>)> = if threads == 1 {
        vec![work()]
    } else {
        std::thread::scope(|scope| {
            let handles: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
            handles
                .into_iter()
                .map(|handle| handle.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
                .collect()
        })
    };
    if let Some((_, fault)) = progress
        .fault
        .into_inner()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
    {
        return Err(fault);
    }
    let mut counts = Counts::new(job.program.ops.len());
    let mut printed = Vec::new();
    for (one, text) in results {
        counts.add(&one);
        printed.extend(text);
    }
    printed.sort_by_key(|(index, _)| *index);
    let printed = printed.into_iter().map(|(_, text)| text).collect();
    Ok(LaunchReport {
        counters: counts.finish(job.program),
        printed,
    })
}

struct Worker<'w> {
    job: &'w Job<'w>,
    limits: &'w Limits<'w>,
    progress: &'w Progress,
    clusters: u64,
    per_cluster: u64,
    counts: Counts,
    printed: Vec<(u64, String)>,
    aside: VecDeque<Cluster>,
    /// A finished cluster, whose memory the next one uses.
    spare: Vec<Cluster>,
}

/// How a cluster's turn ended.
enum Turn {
    Done,
    Aside,
    Failed(Box<Fault>),
}

impl<'w> Worker<'w> {
    fn new(job: &'w Job<'w>, limits: &'w Limits<'w>, progress: &'w Progress, clusters: u64, per_cluster: u64) -> Self {
        Self {
            job,
            limits,
            progress,
            clusters,
            per_cluster,
            counts: Counts::new(job.program.ops.len()),
            printed: Vec::new(),
            aside: VecDeque::new(),
            spare: Vec::new(),
        }
    }

    fn run(mut self) -> (Counts, Vec<(u64, String)>) {
        loop {
            let mut cluster = match self.start_next() {
                Some(cluster) => cluster,
                None => match self.aside.pop_front() {
                    Some(cluster) => cluster,
                    None => break,
                },
            };
            if cluster.index > self.progress.failed.load(Relaxed) {
                self.progress.open.fetch_sub(1, Relaxed);
                continue;
            }
            match self.turn(&mut cluster) {
                Turn::Aside => self.aside.push_back(cluster),
                Turn::Done => self.finish(cluster),
                Turn::Failed(fault) => {
                    self.progress.open.fetch_sub(1, Relaxed);
                    let mut first = self
                        .progress
                        .fault
                        .lock()
                        .unwrap_or_else(std::sync::PoisonError::into_inner);
                    if first.as_ref().is_none_or(|(index, _)| cluster.index < *index) {
                        *first = Some((cluster.index, fault));
                        self.progress.failed.store(cluster.index, Relaxed);
                    }
                }
            }
        }
        (self.counts, self.printed)
    }

    /// Starts the next cluster of the grid, if there is one and the device has room for it.
    fn start_next(&mut self) -> Option<Cluster> {
        if self.progress.next.load(Relaxed) >= self.clusters {
            return None;
        }
        let room = (self.limits.resident / self.per_cluster).max(1);
        // Every host thread may have one cluster open, whatever the device holds.
        if !self.aside.is_empty() && self.progress.open.load(Relaxed) >= room {
            return None;
        }
        let index = self.progress.next.fetch_add(1, Relaxed);
        if index >= self.clusters {
            return None;
        }
        self.progress.open.fetch_add(1, Relaxed);
        let mut cluster = self.spare.pop().unwrap_or_default();
        cluster.start(self.job, index, self.per_cluster);
        Some(cluster)
    }

    fn finish(&mut self, mut cluster: Cluster) {
        self.progress.open.fetch_sub(1, Relaxed);
        self.counts.ctas += self.per_cluster;
        self.counts.warps += cluster.ctas.iter().map(|cta| cta.warps() as u64).sum::<u64>();
        if !cluster.printed.is_empty() {
            self.printed.push((cluster.index, std::mem::take(&mut cluster.printed)));
        }
        self.spare.push(cluster);
    }

    /// Runs a cluster until it is done, fails, or should let others run.
    fn turn(&mut self, cluster: &mut Cluster) -> Turn {
        let mut polling = 0;
        let mut taken = 0;
        loop {
            let mut steps = 0;
            let round = match cluster.round(self.job, &mut self.counts, &mut steps) {
                Ok(round) => round,
                Err(fault) => return Turn::Failed(fault),
            };
            taken += steps;
            let total = self.progress.steps.fetch_add(steps, Relaxed) + steps;
            if total > self.limits.steps {
                let kind = FaultKind::Budget {
                    steps: self.limits.steps,
                };
                return Turn::Failed(cluster.stand(self.job, kind));
            }
            if self.limits.cancel.load(Relaxed) {
                return Turn::Failed(cluster.stand(self.job, FaultKind::Cancelled));
            }
            if cluster.index > self.progress.failed.load(Relaxed) {
                return Turn::Aside;
            }
            match round {
                Round::Done => return Turn::Done,
                Round::Busy => {
                    polling = 0;
                    if taken > LONG {
                        return Turn::Aside;
                    }
                }
                Round::Polling | Round::Blocked => {
                    polling += 1;
                    if polling >= PATIENCE {
                        return Turn::Aside;
                    }
                }
            }
        }
    }
}

impl Cluster {
    fn start(&mut self, job: &Job<'_>, index: u64, size: u64) {
        self.index = index;
        self.ctas.resize_with(size as usize, Cta::default);
        self.shared.resize_with(size as usize, Shared::default);
        self.done.clear();
        self.done.resize(size as usize, false);
        self.printed.clear();
        let clusters: [u64; 3] = std::array::from_fn(|axis| u64::from(job.grid[axis] / job.cluster[axis]));
        let corner = [
            index % clusters[0],
            index / clusters[0] % clusters[1],
            index / (clusters[0] * clusters[1]),
        ];
        let [cx, cy, _] = job.cluster;
        for rank in 0..size as u32 {
            let within = [rank % cx, rank / cx % cy, rank / (cx * cy)];
            let id = std::array::from_fn(|axis| corner[axis] as u32 * job.cluster[axis] + within[axis]);
            self.ctas[rank as usize].start(job, id, index * size + u64::from(rank));
            self.shared[rank as usize].reset(&job.program.shared, job.dynamic_shared);
        }
        self.state = ClusterState::default();
        self.state.live = self.ctas.iter().map(Cta::live).sum();
    }

    /// One round of every CTA.
    fn round(&mut self, job: &Job<'_>, counts: &mut Counts, steps: &mut u64) -> Result<Round, Box<Fault>> {
        let (mut busy, mut polling) = (false, false);
        for rank in 0..self.ctas.len() {
            if self.done[rank] {
                continue;
            }
            let mut env = Surroundings {
                job,
                shared: &mut self.shared,
                rank,
                cluster: &mut self.state,
                counts,
                printed: &mut self.printed,
            };
            match self.ctas[rank].round(&mut env, steps)? {
                Round::Done => {
                    self.done[rank] = true;
                    busy = true;
                }
                Round::Busy => busy = true,
                Round::Polling => polling = true,
                // Its own barriers are out of reach of other CTAs: nothing will ever move it.
                Round::Blocked => return Err(self.ctas[rank].deadlock(job)),
            }
            self.state.leave(self.ctas.iter().map(Cta::live).sum());
        }
        Ok(if self.done.iter().all(|&done| done) {
            Round::Done
        } else if busy {
            Round::Busy
        } else if polling {
            Round::Polling
        } else {
            Round::Blocked
        })
    }

    fn stand(&self, job: &Job<'_>, kind: FaultKind) -> Box<Fault> {
        let first = self.done.iter().position(|&done| !done).unwrap_or(0);
        self.ctas[first].stand(job, kind)
    }
}

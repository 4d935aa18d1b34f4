//! A run in progress, put together from the worker's events.

use std::collections::BTreeMap;

use crate::measure::{Event, Stage, StageState};

/// One stage as it stands.
#[derive(Clone, Debug, PartialEq)]
pub struct StageLine {
    pub state: StageState,
    pub detail: String,
}

/// The run in progress.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunState {
    pub job: u64,
    /// The kernel that runs, by its name in titles.
    pub kernel: String,
    pub operator: String,
    /// The shapes to come, once the worker has said which.
    pub shapes: Vec<String>,
    pub finished: usize,
    /// The shape that runs now.
    pub shape: Option<String>,
    /// Stages of the whole run and of the shape that runs now.
    pub stages: BTreeMap<Stage, StageLine>,
    /// Of the stage that runs now, 0 to 1.
    pub done: f64,
    /// Microseconds of the shape that runs now.
    pub samples: Vec<f64>,
    pub log: Vec<String>,
    pub started_ms: Option<u64>,
    pub cancelling: bool,
    /// The text that runs is what was saved or in the editor at revision so-and-so.
    pub revision: u64,
}

/// Log lines kept.
const LOG_LIMIT: usize = 500;

impl RunState {
    /// Takes in one event; `ShapeFinished` and `Finished` are the caller's to keep.
    pub fn take(&mut self, event: &Event) {
        match event {
            Event::Started { shapes, .. } => self.shapes.clone_from(shapes),
            Event::Stage {
                shape,
                stage,
                state,
                detail,
            } => {
                if shape.is_some() && *shape != self.shape {
                    self.shape.clone_from(shape);
                    self.samples.clear();
                    self.stages
                        .retain(|stage, _| matches!(stage, Stage::Load | Stage::Compile));
                }
                self.done = 0.0;
                let line = StageLine {
                    state: *state,
                    detail: detail.clone(),
                };
                self.stages.insert(*stage, line);
            }
            Event::Progress { done, .. } => self.done = done.clamp(0.0, 1.0),
            Event::Sample { sample, .. } => self.samples.push(sample.microseconds),
            Event::Log { text } => {
                self.log.extend(text.lines().map(crate::tui::escape::line));
                let excess = self.log.len().saturating_sub(LOG_LIMIT);
                self.log.drain(..excess);
            }
            Event::ShapeFinished(_) => self.finished += 1,
            Event::Finished(_) => {}
        }
    }

    /// Milliseconds since the run began.
    pub fn elapsed_ms(&self, now_ms: u64) -> u64 {
        self.started_ms.map_or(0, |started| now_ms.saturating_sub(started))
    }
}

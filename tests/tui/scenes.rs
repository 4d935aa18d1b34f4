//! Named scenes, drawn at three sizes. To accept a changed look: `cargo insta review`, and
//! `UPDATE_SCREENSHOTS=1 cargo test --test tui` for the pictures in `screenshots/`.

use std::path::Path;
use std::sync::Arc;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ridgepoint::device::{DeviceInfo, Sample};
use ridgepoint::kernel::Language;
use ridgepoint::measure::report::{RunReport, ShapeReport};
use ridgepoint::measure::{Event as RunEvent, Stage, StageState};
use ridgepoint::tui::editor::Syntaxes;
use ridgepoint::tui::model::{Iteration, KernelText, Origin};
use ridgepoint::tui::{Event, Model, Theme, theme, update};
use ridgepoint::worker::protocol::FromWorker;

use super::{fixture, picture, recorded};

pub(crate) const SIZES: [(u16, u16); 3] = [(80, 24), (120, 36), (200, 60)];

/// A state put together by events alone, as the program does it.
pub(crate) struct Play(pub(crate) Model);

impl Play {
    pub(crate) fn new(size: (u16, u16)) -> Self {
        let mut stage = Self(Model::new(size, "dark"));
        stage.event(Event::Catalogue(fixture::catalogue()));
        stage.event(Event::Syntaxes(Arc::new(
            Syntaxes::load().expect("the embedded syntaxes"),
        )));
        stage
    }

    pub(crate) fn event(&mut self, event: Event) -> &mut Self {
        update(&mut self.0, event);
        // What the runner does when nothing else is to be done.
        while self.0.unfinished {
            update(&mut self.0, Event::Idle);
        }
        self
    }

    pub(crate) fn keys(&mut self, keys: &str) -> &mut Self {
        for key in keys.chars() {
            let code = match key {
                '\n' => KeyCode::Enter,
                '\t' => KeyCode::Tab,
                '\u{1b}' => KeyCode::Esc,
                '↓' => KeyCode::Down,
                '→' => KeyCode::Right,
                other => KeyCode::Char(other),
            };
            self.event(Event::Key(KeyEvent::new(code, KeyModifiers::NONE)));
        }
        self
    }

    pub(crate) fn device(&mut self, device: DeviceInfo) -> &mut Self {
        self.event(Event::Worker(FromWorker::Ready { device }))
    }

    /// Opens the user's copy of the starter.
    pub(crate) fn open(&mut self, text: &str) -> &mut Self {
        self.open_as("rms_norm/starter.cu", text)
    }

    /// Opens the user's copy of a kernel.
    pub(crate) fn open_as(&mut self, name: &str, text: &str) -> &mut Self {
        self.event(Event::Opened(Box::new(KernelText {
            name: name.to_owned(),
            operator: Some("rms_norm".to_owned()),
            language: Language::Cuda,
            origin: Origin::File(format!("/home/ada/kernels/{name}").into()),
            text: text.into(),
        })))
        .keys("2")
    }

    pub(crate) fn history(&mut self, iterations: Vec<Arc<Iteration>>) -> &mut Self {
        self.event(Event::History {
            operator: "rms_norm".to_owned(),
            iterations,
        })
    }

    pub(crate) fn run_event(&mut self, event: RunEvent) -> &mut Self {
        let job = self.0.jobs;
        self.event(Event::Worker(FromWorker::Event { job, event }))
    }

    /// Runs, with this outcome.
    pub(crate) fn ran(&mut self, report: RunReport) -> &mut Self {
        self.keys("r");
        for shape in report.shapes.clone() {
            self.run_event(RunEvent::ShapeFinished(Box::new(shape)));
        }
        self.run_event(RunEvent::Finished(Box::new(report)))
    }
}

fn shape_of(stage: &mut Play, id: &str) {
    let index = stage
        .0
        .bench
        .shapes()
        .position(|shape| shape.id == id)
        .expect("a fixture's shape");
    stage.0.bench.shape = index;
}

fn on_gpu(size: (u16, u16)) -> Play {
    let mut stage = Play::new(size);
    stage
        .event(Event::Catalogue(recorded::catalogue()))
        .device(recorded::device())
        .open_as("rms_norm/vec8.cu", &recorded::source(8))
        .history(recorded::history());
    shape_of(&mut stage, recorded::SHAPE);
    stage
}

fn on_emulator(size: (u16, u16)) -> Play {
    let mut stage = Play::new(size);
    stage
        .device(fixture::emulator())
        .open(fixture::STARTER)
        .history(fixture::emulator_history());
    stage
}

fn ran_on_emulator(size: (u16, u16), shapes: Vec<ShapeReport>) -> Play {
    let mut stage = on_emulator(size);
    stage.ran(fixture::run(shapes, &fixture::emulator()));
    stage
}

fn running(size: (u16, u16)) -> Play {
    let mut stage = on_gpu(size);
    stage.keys("R").event(Event::Tick(1_000));
    let stages = [
        (Stage::Load, StageState::Passed, ""),
        (Stage::Compile, StageState::Passed, "48 ms"),
        (Stage::Launch, StageState::Passed, ""),
        (Stage::Verify, StageState::Passed, "2x2"),
        (Stage::Time, StageState::Running, ""),
    ];
    stage.run_event(RunEvent::Started {
        operator: Some("rms_norm".to_owned()),
        device: recorded::device(),
        shapes: ["0", "1", "2", recorded::SHAPE, "4"].map(str::to_owned).to_vec(),
    });
    for (stage_name, state, detail) in stages {
        stage.run_event(RunEvent::Stage {
            shape: (stage_name > Stage::Compile).then(|| recorded::SHAPE.to_owned()),
            stage: stage_name,
            state,
            detail: detail.to_owned(),
        });
    }
    let report = recorded::report(8);
    let timing = report.shapes[0].timing.as_ref().expect("a measured run");
    for &microseconds in timing.all_us.iter().take(60) {
        stage.run_event(RunEvent::Sample {
            shape: recorded::SHAPE.to_owned(),
            sample: Sample {
                microseconds,
                sm_mhz: timing.sm_mhz,
                throttled: false,
            },
        });
    }
    stage.run_event(RunEvent::Progress {
        shape: Some(recorded::SHAPE.to_owned()),
        stage: Stage::Time,
        done: 0.62,
    });
    stage.run_event(RunEvent::Log {
        text: "\u{1b}[1mptxas\u{1b}[0m: 24 registers, 1024 bytes shared".to_owned(),
    });
    stage.event(Event::Tick(2_300));
    stage
}

/// A scene's name and how it comes about.
type Scene = (&'static str, fn((u16, u16)) -> Play);

pub(crate) const SCENES: [Scene; 17] = [
    ("operators", |size| {
        let mut stage = on_gpu(size);
        stage.ran(recorded::report(8));
        stage.keys("1↓↓");
        stage
    }),
    ("operators-filter", |size| {
        let mut stage = Play::new(size);
        stage.device(fixture::emulator()).keys("/norm");
        stage
    }),
    ("bench-new", |size| {
        let mut stage = Play::new(size);
        stage
            .device(fixture::emulator())
            .event(Event::Opened(Box::new(KernelText {
                name: "rms_norm/starter.cu".to_owned(),
                operator: Some("rms_norm".to_owned()),
                language: Language::Cuda,
                origin: Origin::BuiltIn,
                text: fixture::STARTER.into(),
            })));
        stage.keys("2");
        stage
    }),
    ("bench-measured", |size| {
        let mut stage = on_gpu(size);
        stage.ran(recorded::report(8));
        stage
    }),
    ("bench-emulated", |size| {
        ran_on_emulator(
            size,
            vec![
                fixture::passed("small-rows", 37, 256),
                fixture::passed("small-tail", 5, 320),
            ],
        )
    }),
    ("bench-wrong-numbers", |size| {
        ran_on_emulator(size, vec![fixture::wrong(), fixture::passed("small-tail", 5, 320)])
    }),
    ("bench-memory-fault", |size| {
        let mut stage = ran_on_emulator(size, vec![fixture::fault()]);
        stage.keys("d");
        stage
    }),
    ("bench-compile-error", |size| {
        let mut stage = on_emulator(size);
        stage.ran(fixture::compile_error(&fixture::emulator()));
        stage
    }),
    ("bench-running", running),
    ("bench-typing", |size| {
        let mut stage = on_emulator(size);
        stage.keys("i// a remark");
        stage
    }),
    ("roofline-measured", |size| {
        let mut stage = on_gpu(size);
        stage.ran(recorded::report(8)).keys("3");
        stage
    }),
    ("roofline-emulated", |size| {
        let mut stage = ran_on_emulator(size, vec![fixture::passed("small-rows", 37, 256)]);
        stage.keys("3");
        stage
    }),
    ("history-measured", |size| {
        let mut stage = on_gpu(size);
        stage.keys("4");
        stage
    }),
    ("history-emulated", |size| {
        let mut stage = on_emulator(size);
        stage.keys("4");
        stage
    }),
    ("help", |size| {
        let mut stage = on_emulator(size);
        stage.keys("?");
        stage
    }),
    ("palette", |size| {
        let mut stage = on_emulator(size);
        stage.keys(":run");
        stage
    }),
    ("unsaved", |size| {
        let mut stage = on_emulator(size);
        stage.keys("ix\u{1b}q");
        stage
    }),
];

#[test]
fn scenes_look_as_they_did() {
    let theme = Theme::of_slots();
    for (name, make) in SCENES {
        for size in SIZES {
            let stage = make(size);
            let buffer = picture::screen(&stage.0, &theme);
            insta::assert_snapshot!(format!("{name}-{}x{}", size.0, size.1), picture::text(&buffer));
            if size == SIZES[1] {
                insta::assert_snapshot!(format!("{name}-styles"), picture::styles(&buffer));
            }
        }
    }
}

#[test]
fn a_tiny_terminal_says_so() {
    for size in [(20, 5), (1, 1), (59, 15), (200, 3)] {
        let stage = Play::new(size);
        let text = picture::text(&picture::screen(&stage.0, &Theme::of_slots()));
        assert!(size.0 < 9 || text.contains("too small"), "{size:?}: {text}");
    }
}

#[test]
fn pictures_are_up_to_date() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("screenshots");
    let renew = std::env::var_os("UPDATE_SCREENSHOTS").is_some();
    let mut stale = Vec::new();
    for (name, make) in SCENES {
        for theme_name in ["dark", "light"] {
            // One picture in the light theme is enough to see that it is one.
            if theme_name == "light" && name != "bench-measured" {
                continue;
            }
            let (theme, _) = theme::by_name(theme_name, None);
            let stage = make(SIZES[1]);
            let svg = picture::svg(&picture::screen(&stage.0, &theme), &theme);
            let suffix = if theme_name == "light" { "-light" } else { "" };
            let path = folder.join(format!("{name}{suffix}.svg"));
            if std::fs::read_to_string(&path).is_ok_and(|old| old == svg) {
                continue;
            }
            if renew {
                std::fs::create_dir_all(&folder).expect("the folder for pictures");
                std::fs::write(&path, svg).expect("a picture");
            } else {
                stale.push(path.display().to_string());
            }
        }
    }
    assert!(
        stale.is_empty(),
        "run with UPDATE_SCREENSHOTS=1 and look at: {}",
        stale.join(", ")
    );
}

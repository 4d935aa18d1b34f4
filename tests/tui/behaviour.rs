//! What keys and events do: states and wishes to the world, no drawing.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ridgepoint::measure::Event as RunEvent;
use ridgepoint::measure::report::ShapeReport;
use ridgepoint::tui::model::{KernelText, MessageKind, Origin, Overlay, Pane, Screen};
use ridgepoint::tui::{Effect, Event, update};
use ridgepoint::verdict::Class;
use ridgepoint::worker::protocol::FromWorker;

use super::fixture;
use super::scenes::Play;

const FILE: &str = "/home/ada/kernels/rms_norm/starter.cu";

fn bench() -> Play {
    let mut play = Play::new((120, 36));
    play.device(fixture::emulator()).open(fixture::STARTER);
    play
}

fn press(play: &mut Play, code: KeyCode, modifiers: KeyModifiers) -> Vec<Effect> {
    update(&mut play.0, Event::Key(KeyEvent::new(code, modifiers)))
}

fn key(play: &mut Play, character: char) -> Vec<Effect> {
    press(play, KeyCode::Char(character), KeyModifiers::NONE)
}

fn ctrl(play: &mut Play, character: char) -> Vec<Effect> {
    press(play, KeyCode::Char(character), KeyModifiers::CONTROL)
}

#[test]
fn enter_on_an_operator_opens_its_last_kernel() {
    let mut play = Play::new((120, 36));
    play.keys("↓↓");
    let effects = press(&mut play, KeyCode::Enter, KeyModifiers::NONE);
    assert!(
        effects.contains(&Effect::OpenLast {
            operator: "rms_norm".to_owned()
        }),
        "{effects:?}"
    );
    assert_eq!(play.0.screen, Screen::Bench);
}

#[test]
fn r_runs_the_chosen_shape_with_the_text_as_it_is() {
    let mut play = bench();
    assert_eq!(
        play.0.bench.current_shape().map(|shape| shape.id.as_str()),
        Some("small-rows")
    );
    play.keys("i/\u{1b}");
    let effects = key(&mut play, 'r');
    let [Effect::Save { .. }, Effect::Run { job: 1, request }] = effects.as_slice() else {
        panic!("{effects:?}")
    };
    assert_eq!(request.shapes, ["small-rows"]);
    assert_eq!(request.operator.as_deref(), Some("rms_norm"));
    assert!(
        request
            .kernel_text
            .as_ref()
            .is_some_and(|text| text.starts_with("//*---"))
    );
}

#[test]
fn running_all_leaves_the_choice_to_the_device() {
    let mut play = bench();
    let effects = key(&mut play, 'R');
    let [Effect::Run { request, .. }] = effects.as_slice() else {
        panic!("{effects:?}")
    };
    assert!(request.shapes.is_empty());
}

#[test]
fn one_run_at_a_time_and_x_stops_it_once() {
    let mut play = bench();
    play.keys("r");
    assert_eq!(key(&mut play, 'r'), []);
    assert_eq!(key(&mut play, 'x'), [Effect::Cancel { job: 1 }]);
    assert_eq!(key(&mut play, 'x'), []);
    play.run_event(RunEvent::Finished(Box::new(fixture::run(
        Vec::new(),
        &fixture::emulator(),
    ))));
    assert!(play.0.run.is_none());
}

#[test]
fn events_of_another_job_change_nothing() {
    let mut play = bench();
    play.keys("r");
    let report = Box::new(fixture::run(vec![fixture::wrong()], &fixture::emulator()));
    play.event(Event::Worker(FromWorker::Event {
        job: 99,
        event: RunEvent::Finished(report),
    }));
    assert!(play.0.run.is_some() && play.0.bench.report.is_none());
}

#[test]
fn a_finished_run_asks_for_the_history() {
    let mut play = bench();
    play.keys("r");
    let report = Box::new(fixture::run(vec![fixture::wrong()], &fixture::emulator()));
    let job = play.0.jobs;
    let effects = update(
        &mut play.0,
        Event::Worker(FromWorker::Event {
            job,
            event: RunEvent::Finished(report),
        }),
    );
    assert_eq!(
        effects,
        [Effect::LoadHistory {
            operator: "rms_norm".to_owned()
        }]
    );
    assert_eq!(play.0.seen["rms_norm"]["small-rows"].class, Class::WrongNumbers);
}

#[test]
fn a_built_in_kernel_is_copied_before_it_is_edited() {
    let mut play = Play::new((120, 36));
    play.event(Event::Opened(Box::new(KernelText {
        name: "rms_norm/starter.cu".to_owned(),
        operator: Some("rms_norm".to_owned()),
        language: ridgepoint::kernel::Language::Cuda,
        origin: Origin::BuiltIn,
        text: fixture::STARTER.into(),
    })));
    play.keys("2i");
    assert_eq!(play.0.overlay, Some(Overlay::OfferCopy));
    let effects = press(&mut play, KeyCode::Enter, KeyModifiers::NONE);
    let [Effect::SaveCopy { operator, name, .. }] = effects.as_slice() else {
        panic!("{effects:?}")
    };
    assert_eq!((operator.as_str(), name.as_str()), ("rms_norm", "starter.cu"));
    play.open(fixture::STARTER);
    assert!(play.0.bench.typing, "typing starts in the copy");
}

#[test]
fn quitting_with_changes_asks_first() {
    let mut play = bench();
    play.keys("ix\u{1b}");
    assert_eq!(key(&mut play, 'q'), []);
    assert!(matches!(play.0.overlay, Some(Overlay::OfferSave(_))));
    let effects = key(&mut play, 's');
    let [Effect::Save { path, text }] = effects.as_slice() else {
        panic!("{effects:?}")
    };
    let effects = update(
        &mut play.0,
        Event::Saved {
            path: path.clone(),
            text: text.clone(),
        },
    );
    assert_eq!(effects, [Effect::Quit], "only once the text is on disk");
}

#[test]
fn a_save_that_fails_does_not_quit() {
    let mut play = bench();
    play.keys("ix\u{1b}qs");
    play.event(Event::FileFailed("not saved: the disk is full".to_owned()));
    let text = play.0.bench.editor.text();
    let effects = update(
        &mut play.0,
        Event::Saved {
            path: FILE.into(),
            text,
        },
    );
    assert_eq!(effects, []);
}

#[test]
fn letters_go_into_the_text_while_typing() {
    let mut play = bench();
    play.keys("iq1?:");
    assert!(play.0.bench.editor.lines()[0].starts_with("q1?:/*---"));
    assert_eq!(play.0.screen, Screen::Bench);
    ctrl(&mut play, 'z');
    assert!(play.0.bench.typing);
}

#[test]
fn saving_marks_the_text_as_saved() {
    let mut play = bench();
    play.keys("ix");
    let effects = ctrl(&mut play, 's');
    let [Effect::Save { path, text }] = effects.as_slice() else {
        panic!("{effects:?}")
    };
    play.event(Event::Saved {
        path: path.clone(),
        text: text.clone(),
    });
    assert!(!play.0.bench.editor.is_dirty());
}

#[test]
fn a_change_on_disk_is_taken_over_unless_it_would_lose_work() {
    let mut play = bench();
    play.event(Event::FileChanged {
        path: FILE.into(),
        text: "new\n".into(),
    });
    assert_eq!(play.0.bench.editor.lines(), ["new"]);
    assert!(!play.0.bench.editor.is_dirty());
    play.keys("ix\u{1b}");
    play.event(Event::FileChanged {
        path: FILE.into(),
        text: "other\n".into(),
    });
    assert_eq!(play.0.bench.editor.lines(), ["xnew"]);
    assert_eq!(
        play.0.message.as_ref().map(|message| message.kind),
        Some(MessageKind::Problem)
    );
    play.keys("L");
    assert_eq!(play.0.bench.editor.lines(), ["other"]);
}

#[test]
fn run_on_save_runs_for_other_editors_too() {
    let mut play = bench();
    play.keys("w");
    let effects = update(
        &mut play.0,
        Event::FileChanged {
            path: FILE.into(),
            text: "new\n".into(),
        },
    );
    assert!(
        effects.iter().any(|effect| matches!(effect, Effect::Run { .. })),
        "{effects:?}"
    );
}

#[test]
fn n_walks_the_failing_shapes_and_d_their_lines() {
    let mut play = bench();
    let shapes = vec![
        fixture::passed("small-rows", 37, 256),
        ShapeReport {
            id: "small-tail".to_owned(),
            ..fixture::fault()
        },
    ];
    play.ran(fixture::run(shapes, &fixture::emulator()));
    assert_eq!(
        play.0.bench.current_shape().map(|shape| shape.id.as_str()),
        Some("small-tail"),
        "a failed run shows it"
    );
    play.keys("d");
    assert_eq!(play.0.bench.editor.cursor().0, 33);
    play.keys("ix\u{1b}");
    assert!(play.0.bench.diagnostics().is_empty(), "lines have moved");
}

#[test]
fn the_emulator_starts_with_the_small_shapes_and_a_gpu_with_the_real_ones() {
    let mut play = bench();
    assert_eq!(play.0.bench.shape, 5);
    play.device(fixture::gpu());
    assert_eq!(play.0.bench.shape, 0);
}

#[test]
fn panes_go_round_and_zoom() {
    let mut play = bench();
    for pane in [Pane::Verdict, Pane::Roofline, Pane::History, Pane::Code] {
        play.keys("\t");
        assert_eq!(play.0.bench.pane, pane);
    }
    play.keys("z");
    assert!(play.0.bench.zoomed);
}

#[test]
fn the_palette_finds_commands_and_operators() {
    let mut play = bench();
    play.keys(":zoom\n");
    assert!(play.0.bench.zoomed);
    play.keys(":layer\n");
    assert_eq!(
        play.0.bench.operator.as_ref().map(|operator| operator.name.as_str()),
        Some("layer_norm")
    );
}

#[test]
fn going_to_a_line_and_finding() {
    let mut play = bench();
    play.keys("g21\n");
    assert_eq!(play.0.bench.editor.cursor(), (20, 0));
    play.keys("/rsqrtf\n");
    assert_eq!(play.0.bench.editor.cursor(), (31, 18));
    play.keys("/nowhere\n");
    assert!(
        play.0
            .message
            .as_ref()
            .is_some_and(|message| message.text.contains("nowhere"))
    );
}

#[test]
fn versions_are_compared_with_the_one_before_or_the_marked_one() {
    let mut play = bench();
    play.history(fixture::gpu_history()).keys("4");
    let compared = |play: &Play| play.0.history.compared().map(|(a, b)| (a.version, b.version));
    assert_eq!(compared(&play), Some((13, 14)));
    play.keys("↓↓ ");
    play.keys("kk");
    assert_eq!(compared(&play), Some((12, 14)));
}

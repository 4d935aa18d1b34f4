//! No sequence of events panics, whatever the terminal's size.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers, MouseButton, MouseEvent, MouseEventKind};
use proptest::prelude::*;
use ridgepoint::measure::{Event as RunEvent, Stage, StageState};
use ridgepoint::tui::{Event, Theme, update};
use ridgepoint::worker::protocol::FromWorker;

use super::scenes::Play;
use super::{fixture, picture};

fn keys() -> impl Strategy<Value = Event> {
    let code = prop_oneof![
        6 => proptest::char::range(' ', '~').prop_map(KeyCode::Char),
        1 => any::<char>().prop_map(KeyCode::Char),
        4 => proptest::sample::select(vec![
            KeyCode::Enter, KeyCode::Esc, KeyCode::Tab, KeyCode::BackTab, KeyCode::Up, KeyCode::Down, KeyCode::Left,
            KeyCode::Right, KeyCode::PageUp, KeyCode::PageDown, KeyCode::Home, KeyCode::End, KeyCode::Backspace,
            KeyCode::Delete, KeyCode::F(5),
        ]),
    ];
    let modifiers = proptest::sample::select(vec![
        KeyModifiers::NONE,
        KeyModifiers::NONE,
        KeyModifiers::CONTROL,
        KeyModifiers::SHIFT,
        KeyModifiers::ALT,
    ]);
    (code, modifiers).prop_map(|(code, modifiers)| Event::Key(KeyEvent::new(code, modifiers)))
}

fn run_events() -> impl Strategy<Value = RunEvent> {
    let report = |shapes| RunEvent::Finished(Box::new(fixture::run(shapes, &fixture::emulator())));
    proptest::sample::select(vec![
        RunEvent::Started {
            operator: None,
            device: fixture::gpu(),
            shapes: vec!["3".to_owned(), "\u{1b}".to_owned()],
        },
        RunEvent::Stage {
            shape: Some("3".to_owned()),
            stage: Stage::Verify,
            state: StageState::Running,
            detail: "\t\u{7f}".to_owned(),
        },
        RunEvent::Progress {
            shape: None,
            stage: Stage::Time,
            done: f64::NAN,
        },
        RunEvent::Log {
            text: "a\r\n\u{202e}b".to_owned(),
        },
        RunEvent::ShapeFinished(Box::new(fixture::wrong())),
        RunEvent::ShapeFinished(Box::new(fixture::measured(0.0))),
        report(vec![fixture::fault(), fixture::passed("small-tail", 5, 320)]),
        report(Vec::new()),
        RunEvent::Finished(Box::new(fixture::compile_error(&fixture::emulator()))),
    ])
}

fn events() -> impl Strategy<Value = Event> {
    let path = || "/home/ada/kernels/rms_norm/starter.cu".into();
    let others = proptest::sample::select(vec![
        Event::Catalogue(fixture::catalogue()),
        Event::Worker(FromWorker::Ready { device: fixture::gpu() }),
        Event::Worker(FromWorker::Ready {
            device: fixture::emulator(),
        }),
        Event::WorkerLost("gone".to_owned()),
        Event::History {
            operator: "rms_norm".to_owned(),
            iterations: fixture::gpu_history(),
        },
        Event::History {
            operator: "rms_norm".to_owned(),
            iterations: Vec::new(),
        },
        Event::FileChanged {
            path: path(),
            text: "".into(),
        },
        Event::FileChanged {
            path: path(),
            text: "\u{0}\t\u{6f22}\u{5b57}\r\nx".into(),
        },
        Event::Themes(vec!["dark".to_owned(), "light".to_owned()]),
        Event::Kernels {
            operator: "rms_norm".to_owned(),
            files: vec![path()],
        },
        Event::Paste("one\ntwo\r\n\u{1b}[2J".to_owned()),
        Event::Tick(7_000),
        Event::Idle,
    ]);
    let mouse = (0_u16..130, 0_u16..40, any::<bool>()).prop_map(|(column, row, wheel)| {
        let kind = if wheel {
            MouseEventKind::ScrollDown
        } else {
            MouseEventKind::Down(MouseButton::Left)
        };
        Event::Mouse(MouseEvent {
            kind,
            column,
            row,
            modifiers: KeyModifiers::NONE,
        })
    });
    prop_oneof![
        8 => keys(),
        2 => others,
        1 => mouse,
        1 => (1_u16..220, 1_u16..70).prop_map(|(columns, rows)| Event::Resize(columns, rows)),
        2 => run_events().prop_map(|event| Event::Worker(FromWorker::Event { job: 1, event })),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]
    #[test]
    fn nothing_panics(events in proptest::collection::vec(events(), 1..60), opened: bool) {
        let mut play = Play::new((120, 36));
        if opened {
            play.device(fixture::emulator()).open(fixture::STARTER);
        }
        let theme = Theme::of_slots();
        for (index, event) in events.into_iter().enumerate() {
            update(&mut play.0, event);
            if index % 4 == 0 {
                picture::screen(&play.0, &theme);
            }
        }
        picture::screen(&play.0, &theme);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]
    #[test]
    fn colours_after_edits_are_those_of_the_text(events in proptest::collection::vec(keys(), 1..80)) {
        let mut play = Play::new((120, 36));
        play.device(fixture::emulator()).open(fixture::STARTER).keys("gg\u{1b}i");
        for event in events {
            if let Event::Key(key) = event {
                play.0.bench.editor.key(key);
                update(&mut play.0, Event::Idle);
            }
        }
        play.event(Event::Idle);
        let edited = play.0.bench.editor.clone();
        let mut fresh = Play::new((120, 36));
        fresh.device(fixture::emulator()).open(&edited.text());
        fresh.0.bench.editor.go_to(edited.cursor().0, 0);
        fresh.event(Event::Idle);
        for line in 0..edited.lines().len() {
            if let (Some(kept), Some(anew)) = (edited.colours().line(line), fresh.0.bench.editor.colours().line(line)) {
                prop_assert_eq!(kept, anew, "line {}", line + 1);
            }
        }
    }
}

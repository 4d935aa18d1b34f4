//! The store in all the states it can be found in.

use std::fs;
use std::path::Path;

use rusqlite::Connection;
use tempfile::TempDir;

use super::*;
use crate::measure::RunReport;
use crate::measure::report::{CacheState, DeviceReport, KernelReport, SCHEMA, ShapeReport, TimingKind, TimingReport};
use crate::shape::Params;

fn shape(id: &str, median_us: Option<f64>) -> ShapeReport {
    ShapeReport {
        id: id.to_owned(),
        params: Params::default(),
        status: Class::Passed,
        reason: String::new(),
        evidence: Vec::new(),
        next: Vec::new(),
        compile_ms: 1.0,
        verify: None,
        timing: median_us.map(|median_us| TimingReport {
            median_us,
            min_us: median_us,
            samples: 3,
            ci95_us: [median_us; 2],
            kind: TimingKind::Measured,
            cache: CacheState::Cold,
            throttled_samples: 0,
            launch_floor_us: None,
            sm_mhz: None,
            all_us: vec![median_us; 3],
        }),
        roofline: None,
        counters: None,
    }
}

fn report(path: &str, text: &str, shapes: Vec<ShapeReport>) -> RunReport {
    RunReport {
        schema: SCHEMA,
        operator: Some("rms_norm".to_owned()),
        kernel: KernelReport {
            path: path.to_owned(),
            language: None,
            sha256: format!("sha of {text}"),
            defines: vec![("BLOCK".to_owned(), 256)],
            compile: None,
        },
        device: DeviceReport {
            name: "mock".to_owned(),
            kind: "mock".to_owned(),
            profile: "h200".to_owned(),
            details: Vec::new(),
        },
        status: Class::Passed,
        reason: "1 shape passed".to_owned(),
        evidence: Vec::new(),
        next: Vec::new(),
        shapes,
        started_unix_s: 1.0e9,
        wall_ms: 5.0,
    }
}

fn open(path: &Path) -> History {
    let opened = History::open(path);
    assert_eq!(opened.message, None);
    opened.history.unwrap()
}

fn keep(history: &mut History, report: &RunReport, source: &str) -> i64 {
    let run = NewRun {
        report,
        file: &report.kernel.path,
        source,
        author: "someone",
        note: "",
    };
    history.record(run).unwrap().id
}

#[test]
fn a_run_comes_back_as_it_was_kept() {
    let folder = TempDir::new().unwrap();
    let mut history = open(&folder.path().join("deep/history.sqlite3"));
    let first = report("a.cu", "one", vec![shape("1", Some(20.0)), shape("2", None)]);
    let one = keep(&mut history, &first, "one");
    let two = keep(
        &mut history,
        &report("a.cu", "two", vec![shape("1", Some(10.0))]),
        "two",
    );
    let other = keep(
        &mut history,
        &report("b.cu", "one", vec![shape("1", Some(30.0))]),
        "one",
    );
    assert_eq!(history.report(one).unwrap().unwrap(), first);
    assert_eq!(history.source(two).unwrap().as_deref(), Some("two"));
    assert_eq!(history.get(two).unwrap().unwrap().parent, Some(one));
    assert_eq!(history.get(other).unwrap().unwrap().parent, None);
    let all = history.list(&Filter::default()).unwrap();
    assert_eq!(all.iter().map(|run| run.id).collect::<Vec<_>>(), [other, two, one]);
    let filter = Filter {
        operator: Some("rms_norm".to_owned()),
        shape: Some("2".to_owned()),
        limit: None,
    };
    let with_shape = history.list(&filter).unwrap();
    assert_eq!(with_shape.len(), 1);
    assert_eq!(with_shape[0].shape.as_ref().unwrap().id, "2");
    let best = history.best("rms_norm", "1", "h200").unwrap().unwrap();
    assert_eq!((best.id, best.shape.unwrap().median_us), (two, Some(10.0)));
    assert!(history.best("rms_norm", "2", "h200").unwrap().is_none());
}

#[test]
fn equal_sources_are_stored_once() {
    let folder = TempDir::new().unwrap();
    let mut history = open(&folder.path().join(FILE_NAME));
    for _ in 0..3 {
        keep(&mut history, &report("a.cu", "same", Vec::new()), "same");
    }
    let sources: i64 = history
        .connection
        .query_row("SELECT count(*) FROM source", [], |row| row.get(0))
        .unwrap();
    assert_eq!((sources, history.count().unwrap()), (1, 3));
}

#[test]
fn a_newer_schema_is_left_untouched() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join(FILE_NAME);
    keep(&mut open(&path), &report("a.cu", "one", Vec::new()), "one");
    let connection = Connection::open(&path).unwrap();
    connection.pragma_update(None, "user_version", 99).unwrap();
    drop(connection);
    let before = fs::read(&path).unwrap();
    let opened = History::open(&path);
    assert!(opened.history.is_none());
    let message = opened.message.unwrap();
    assert!(message.contains("newer Ridgepoint (schema 99"), "{message}");
    assert_eq!(fs::read(&path).unwrap(), before);
}

#[test]
fn an_older_schema_is_migrated() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join(FILE_NAME);
    let mut history = open(&path);
    let id = keep(&mut history, &report("a.cu", "one", vec![shape("1", None)]), "one");
    history
        .connection
        .execute_batch(
            "DROP INDEX iteration_by_operator; DROP INDEX iteration_by_path; DROP INDEX shape_result_by_shape;
             DROP INDEX shape_result_by_time; PRAGMA user_version = 1;",
        )
        .unwrap();
    drop(history);
    let history = open(&path);
    assert_eq!(schema::version(&history.connection).unwrap(), schema::VERSION);
    assert_eq!(history.source(id).unwrap().as_deref(), Some("one"));
}

#[test]
fn a_corrupted_file_is_moved_aside_whole() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join(FILE_NAME);
    let garbage = b"this is no database, but it may be precious to someone".repeat(40);
    fs::write(&path, &garbage).unwrap();
    let opened = History::open(&path);
    assert!(opened.message.unwrap().contains("was moved to"));
    let mut history = opened.history.unwrap();
    keep(&mut history, &report("a.cu", "one", Vec::new()), "one");
    let aside: Vec<_> = fs::read_dir(folder.path())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.to_string_lossy().contains(".corrupt-"))
        .collect();
    assert_eq!(aside.len(), 1);
    assert_eq!(fs::read(&aside[0]).unwrap(), garbage);
}

#[test]
fn another_programs_database_is_refused() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join(FILE_NAME);
    Connection::open(&path)
        .unwrap()
        .execute_batch("CREATE TABLE theirs (x)")
        .unwrap();
    let opened = History::open(&path);
    assert!(opened.history.is_none());
    assert!(opened.message.unwrap().contains("another program"));
}

#[test]
fn a_folder_that_cannot_be_written_gives_a_message() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, "x").unwrap();
    // A file where a folder is needed refuses even the superuser.
    let opened = History::open(&file.join(FILE_NAME));
    assert!(opened.history.is_none());
    assert!(opened.message.unwrap().contains("cannot be written"));
}

#[test]
fn a_run_in_flight_leaves_nothing_half_kept() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join(FILE_NAME);
    let mut history = open(&path);
    keep(&mut history, &report("a.cu", "one", Vec::new()), "one");
    // A second writer that dies in the middle of its transaction.
    let other = Connection::open(&path).unwrap();
    other
        .execute_batch("BEGIN IMMEDIATE; INSERT INTO source VALUES ('half', 'a run that was killed');")
        .unwrap();
    drop(other);
    let id = keep(&mut history, &report("a.cu", "two", Vec::new()), "two");
    let half: i64 = history
        .connection
        .query_row("SELECT count(*) FROM source WHERE sha256 = 'half'", [], |row| {
            row.get(0)
        })
        .unwrap();
    assert_eq!((half, history.count().unwrap()), (0, 2));
    assert_eq!(history.source(id).unwrap().as_deref(), Some("two"));
}

#[test]
fn lists_of_large_histories_use_the_indexes() {
    let folder = TempDir::new().unwrap();
    let history = open(&folder.path().join(FILE_NAME));
    let plan = |sql: &str| -> String {
        let mut statement = history
            .connection
            .prepare(&format!("EXPLAIN QUERY PLAN {sql}"))
            .unwrap();
        let rows = statement.query_map([], |row| row.get::<_, String>(3)).unwrap();
        rows.map(Result::unwrap).collect::<Vec<_>>().join("; ")
    };
    let by_operator = plan("SELECT id FROM iteration i WHERE i.operator = 'x' ORDER BY i.id DESC LIMIT 5");
    assert!(
        by_operator.contains("iteration_by_operator") && !by_operator.contains("TEMP B-TREE"),
        "{by_operator}"
    );
    let by_shape = plan("SELECT iteration FROM shape_result WHERE shape = 'x' ORDER BY iteration DESC LIMIT 5");
    assert!(
        by_shape.contains("shape_result_by_shape") && !by_shape.contains("TEMP B-TREE"),
        "{by_shape}"
    );
}

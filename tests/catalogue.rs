//! The problem files: held against the published figures, and against what a user's folder may do to them.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use ridgepoint::problem::{Catalogue, Operator, Role};
use tempfile::TempDir;

/// The published figures, by operator and shape: the columns of the file behind these two.
fn published() -> BTreeMap<(String, String), Vec<String>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/atrex_expected.tsv");
    let text = fs::read_to_string(path).unwrap();
    text.lines()
        .filter(|line| !line.starts_with('#'))
        .skip(1)
        .map(|line| {
            let mut cells = line.split('\t').map(str::to_owned);
            ((cells.next().unwrap(), cells.next().unwrap()), cells.collect())
        })
        .collect()
}

fn builtin() -> Catalogue {
    let catalogue = Catalogue::builtin();
    let reasons: Vec<String> = catalogue.broken.iter().map(ToString::to_string).collect();
    assert!(reasons.is_empty(), "{}", reasons.join("\n"));
    catalogue
}

fn flops_text(operator: &Operator, shape: &ridgepoint::shape::Shape) -> String {
    let cost = operator.cost_of(shape).unwrap();
    let parts: Vec<String> = cost
        .flops
        .iter()
        .map(|(path, count)| format!("{path}={count}"))
        .collect();
    if parts.is_empty() {
        "-".to_owned()
    } else {
        parts.join(";")
    }
}

#[test]
fn every_shape_costs_what_was_published() {
    let catalogue = builtin();
    let mut expected = published();
    assert_eq!(expected.len(), 440);
    assert_eq!(catalogue.of_suite("atrex").count(), 30);
    for operator in catalogue.of_suite("atrex") {
        for shape in &operator.shapes {
            let key = (operator.name.clone(), shape.id.clone());
            let row = expected
                .remove(&key)
                .unwrap_or_else(|| panic!("{key:?} was not published"));
            let cost = operator.cost_of(shape).unwrap();
            assert_eq!(flops_text(operator, shape), row[0], "FLOPs of {key:?}");
            assert_eq!(cost.bytes_read.to_string(), row[1], "bytes read of {key:?}");
            assert_eq!(cost.bytes_written.to_string(), row[2], "bytes written of {key:?}");
        }
    }
    assert!(
        expected.is_empty(),
        "published shapes are missing: {:?}",
        expected.keys()
    );
}

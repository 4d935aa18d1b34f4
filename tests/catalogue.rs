//! The problem files: held against the published figures, and against what a user's folder may do to them.

#![expect(clippy::unwrap_used, reason = "a test panics where a fact does not hold")]

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use ridgepoint::problem::{Catalogue, Operator, Role};
use ridgepoint::roofline;
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

#[test]
fn weights_are_the_published_shares() {
    let catalogue = builtin();
    let sum: f64 = catalogue.of_suite("atrex").map(|operator| operator.weight).sum();
    // Published to six decimals each.
    assert!((sum - 1.0).abs() < 2e-5, "{sum}");
    for (name, weight) in [
        ("unified_attention", 0.360_778),
        ("rms_norm", 0.025_127),
        ("layer_norm", 0.000_706),
    ] {
        assert_eq!(catalogue.operator(name).unwrap().weight, weight, "{name}");
    }
    assert!(catalogue.suite("atrex").unwrap().source.contains("2607.14541"));
}

#[test]
fn costs_are_at_least_the_size_of_the_outputs() {
    // Rooms for the longest possible routing are larger than what a draw fills; a pool of states counts only the rows in use.
    let exempt = ["moe_align_block_size", "chunk_gated_delta_rule_state"];
    for operator in builtin().operators {
        for shape in operator.shapes.iter().chain(&operator.twins) {
            let tensors = operator.tensors_of(shape).unwrap();
            let written: u64 = tensors
                .iter()
                .filter(|tensor| tensor.role != Role::In)
                .map(ridgepoint::problem::ConcreteTensor::bytes)
                .sum();
            if !exempt.contains(&operator.name.as_str()) {
                let billed = operator.cost_of(shape).unwrap().bytes_written;
                assert_eq!(billed, written, "{} shape {}", operator.name, shape.id);
            }
        }
    }
}

/// The operators that come with everything a run needs.
const COMPLETE: [&str; 10] = [
    "rms_norm",
    "fused_add_rms_norm",
    "layer_norm",
    "l2_norm",
    "silu_and_mul",
    "moe_topk_gating_softmax",
    "per_token_group_quant_fp8",
    "topk_filter",
    "linear_sigmoid_mul",
    "attention_forward",
];

/// Elements that the emulator gets through in well under a second.
const TWIN_ELEMENTS: u64 = 40_000;

#[test]
fn the_complete_operators_have_contracts_distributions_and_twins() {
    let catalogue = builtin();
    for name in COMPLETE {
        let operator = catalogue.operator(name).unwrap();
        for tensor in operator.tensors.iter().filter(|tensor| tensor.role == Role::Out) {
            assert!(!tensor.contracts.is_empty(), "{name}: {} has no contract", tensor.name);
        }
        assert!(
            operator.distributions().len() >= 4,
            "{name}: {:?}",
            operator.distributions()
        );
        assert!(
            (3..=6).contains(&operator.twins.len()),
            "{name}: {} twins",
            operator.twins.len()
        );
        for twin in &operator.twins {
            let elements: u64 = operator
                .tensors_of(twin)
                .unwrap()
                .iter()
                .map(ridgepoint::problem::ConcreteTensor::elements)
                .sum();
            assert!(elements <= TWIN_ELEMENTS, "{name} {}: {elements} elements", twin.id);
        }
    }
}

#[test]
fn names_are_found_and_slips_get_a_hint() {
    let catalogue = builtin();
    for name in ["rms_norm", "atrex/rms_norm", "atrex_027"] {
        assert_eq!(catalogue.operator(name).unwrap().name, "rms_norm");
    }
    let error = catalogue.operator("rmsnorm").unwrap_err();
    assert!(error.suggestions.iter().any(|name| name == "rms_norm"), "{error}");
    let error = catalogue.operator("fft").unwrap_err();
    assert_eq!(
        error.to_string(),
        "no operator `fft`; `ridgepoint list operators` shows all"
    );
}

/// A small right problem; tests spoil one line of it.
const GOOD: &str = r#"weight = 0.5
dtype = "f32"
maths = "out = 2 x"

[params]
rows = "rows of x"

[derived]
double = "rows * 2"

[[tensor]]
name = "x"
role = "in"
dtype = "f32"
dims = ["double"]
recipes.published = { kind = "normal", std = 1 }

[[tensor]]
name = "out"
role = "out"
dtype = "f32"
dims = ["double"]
contract = { rule = "exact" }

[cost]
bytes_read = "4 * double"
bytes_written = "4 * double"

[shapes]
table = """
id rows
0  8
1  9
"""
"#;

fn folder(files: &[(&str, &str)]) -> TempDir {
    let folder = TempDir::new().unwrap();
    for (name, text) in files {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    folder
}

#[test]
fn a_folder_adds_problems_and_kernels() {
    let folder = folder(&[
        ("mine/twice/problem.toml", GOOD),
        ("mine/twice/reference.cu", "// reference"),
        ("mine/twice/reference.ptx", "// compiled"),
        ("mine/twice/kernels/fast.cu", "// fast"),
        ("mine/twice/kernels/starter.cu", "// starter"),
        ("mine/twice/kernels/starter.ptx", "// compiled starter"),
        ("mine/twice/kernels/hand.ptx", "// by hand"),
        ("atrex/mrope/kernels/extra.py", "# a kernel for a built-in operator"),
    ]);
    let catalogue = Catalogue::load(Some(folder.path()));
    assert_eq!(catalogue.broken, []);
    let twice = catalogue.operator("mine/twice").unwrap();
    assert!(twice.is_complete());
    let kernels: Vec<(&str, Option<&str>)> = twice
        .kernels
        .iter()
        .map(|kernel| (kernel.name.as_str(), kernel.ptx.as_deref()))
        .collect();
    let starter = ("kernels/starter.cu", Some("// compiled starter"));
    assert_eq!(
        kernels,
        [starter, ("kernels/fast.cu", None), ("kernels/hand.ptx", None)]
    );
    assert_eq!(twice.reference.as_ref().unwrap().ptx.as_deref(), Some("// compiled"));
    let mrope = catalogue.operator("mrope").unwrap();
    assert!(
        mrope
            .kernels
            .iter()
            .any(|kernel| kernel.name == "kernels/extra.py" && kernel.path.is_some())
    );
    assert_eq!(mrope.shapes.len(), 5);
    assert_eq!(catalogue.suite("mine").unwrap().title, "mine");
}

#[test]
fn a_folder_overrides_and_a_broken_override_hides() {
    let good = folder(&[("atrex/rms_norm/problem.toml", GOOD)]);
    let catalogue = Catalogue::load(Some(good.path()));
    assert_eq!(catalogue.operator("rms_norm").unwrap().shapes.len(), 2);
    assert_eq!(catalogue.operators.len(), 30);

    let bad = folder(&[("atrex/rms_norm/problem.toml", "weight = \n")]);
    let catalogue = Catalogue::load(Some(bad.path()));
    assert_eq!(catalogue.operators.len(), 29);
    let error = catalogue.operator("rms_norm").unwrap_err().to_string();
    assert!(
        error.starts_with("the problem `rms_norm` is broken: ") && error.contains("problem.toml:1:"),
        "{error}"
    );
    assert!(catalogue.operator("layer_norm").is_ok());
}

#[test]
fn a_missing_folder_is_said_and_nothing_is_lost() {
    let catalogue = Catalogue::load(Some(Path::new("/no/such/folder")));
    assert_eq!(catalogue.operators.len(), 30);
    assert_eq!(catalogue.broken.len(), 1);
    assert!(catalogue.broken[0].reason.contains("/no/such/folder"));
}

/// Replaces one text in the good problem and gives the findings as `line: message`.
fn spoiled(from: &str, to: &str) -> Vec<String> {
    assert!(GOOD.contains(from), "{from}");
    let folder = folder(&[("mine/twice/problem.toml", &GOOD.replacen(from, to, 1))]);
    let catalogue = Catalogue::load(Some(folder.path()));
    assert!(catalogue.operator("mine/twice").is_err());
    assert_eq!(catalogue.operators.len(), 30);
    let place = |line: Option<usize>| line.map_or_else(|| "-".to_owned(), |line| line.to_string());
    let broken = catalogue.broken.iter();
    broken
        .map(|broken| format!("{}: {}", place(broken.line), broken.reason))
        .collect()
}

#[test]
fn every_mistake_is_on_its_line() {
    for (from, to, expected) in [
        (
            "weight = 0.5",
            "weight = -1",
            "1: the weight is -1; it must be 0 or more",
        ),
        (
            "dtype = \"f32\"\nmaths",
            "dtyp = \"f32\"\nmaths",
            "2: unknown field `dtyp`",
        ),
        (
            "\"rows * 2\"",
            "\"rows * \"",
            "9: `rows * `: expected a number, a name or `(`",
        ),
        (
            "\"rows * 2\"",
            "\"rows * cols\"",
            "9: derived `double = \"rows * cols\"`: unknown name `cols` (shape 0: rows=8)",
        ),
        ("name = \"x\"", "name = \"rows\"", "12: the name `rows` is taken"),
        (
            "dtype = \"f32\"\ndims",
            "dtype = \"f31\"\ndims",
            "14: tensor `x`: unknown dtype `f31`",
        ),
        (
            "published",
            "publish",
            "12: tensor `x` is an input; give it a recipe named `published`",
        ),
        ("published", "wild", "16: no distribution `wild`; did you mean `wide`?"),
        (
            "std = 1",
            "sd = 1",
            "16: tensor `x`, distribution `published`: unknown field `sd`",
        ),
        (
            "std = 1",
            "std = \"sqrt(0 - rows)\"",
            "16: tensor `x`, distribution `published`: `std = \"sqrt(0 - rows)\"`",
        ),
        (
            "rule = \"exact\"",
            "rule = \"exact\", atol = 1",
            "23: contract of `out`, distribution `published`: `exact` has no field `atol`",
        ),
        (
            "bytes_written = \"4 * double\"",
            "bytes_written = \"4 * dubble\"",
            "27: cost `4 * dubble`: unknown name `dubble`",
        ),
        (
            "bytes_read",
            "flops.fp31 = \"1\"\nbytes_read",
            "26: no arithmetic path `fp31`",
        ),
        ("id rows", "id rows cols", "31: the column `cols` is not a parameter"),
        ("1  9", "1", "33: the row has 1 cells for 2 columns"),
        ("1  9", "0  9", "33: the id `0` is there twice"),
        (
            "1  9",
            "small-a 9",
            "33: the id `small-a` must not start with `small-` here",
        ),
        (
            "1  9",
            "1 -9",
            "19: tensor `out`: dimension `double` is -18 (shape 1: rows=-9)",
        ),
    ] {
        let findings = spoiled(from, to);
        assert!(
            findings.iter().any(|finding| finding.starts_with(expected)),
            "{to}: {findings:#?}"
        );
    }
}

#[test]
fn roofs_are_the_published_ones() {
    let catalogue = builtin();
    let expected = published();
    for (column, name) in [(3, "h20"), (4, "xpu-a")] {
        let profile = roofline::machine::profile(name).unwrap();
        for operator in catalogue.of_suite("atrex") {
            for shape in &operator.shapes {
                let row = &expected[&(operator.name.clone(), shape.id.clone())];
                let published_us = row[column].parse::<f64>().unwrap() * 1e3;
                let roof = roofline::bound(&operator.cost_of(shape).unwrap(), profile);
                assert!(
                    (roof.t_sol_us / published_us - 1.0).abs() < 1e-9,
                    "{} shape {} on {name}: {} and {published_us} us",
                    operator.name,
                    shape.id,
                    roof.t_sol_us
                );
            }
        }
    }
}

#[test]
fn reference_times_belong_to_shapes_and_respect_the_roof() {
    let catalogue = builtin();
    let baselines = roofline::baselines::of_machine("h200").unwrap();
    let profile = roofline::machine::profile("h200").unwrap();
    for entry in &baselines.entries {
        let operator = catalogue.operator(&entry.operator).unwrap();
        let shape = operator.shape(&entry.shape).unwrap_or_else(|| panic!("{entry:?}"));
        let roof = roofline::bound(&operator.cost_of(shape).unwrap(), profile);
        if let Some(time) = entry.microseconds {
            assert!(time > roof.t_sol_us, "{entry:?} beats its roof of {} us", roof.t_sol_us);
        }
    }
    let eager = baselines.entries.iter().filter(|entry| entry.implementation == "eager");
    assert_eq!(eager.count(), 440);
}

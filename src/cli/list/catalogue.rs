//! The lists made from the catalogue: operators, shapes, kernels, suites.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::{Filter, Listing};
use crate::cli::table::{Align, Table};
use crate::problem::{Catalogue, Operator, Source};
use crate::roofline::{self, MachineProfile, machine};
use crate::shape::Shape;
use crate::units;

/// The operators that a filter leaves.
fn selected<'a>(catalogue: &'a Catalogue, filter: Filter<'_>) -> Result<Vec<&'a Arc<Operator>>, String> {
    if let Some(suite) = filter.suite {
        catalogue.suite(suite)?;
    }
    let in_suite = |operator: &&Arc<Operator>| filter.suite.is_none_or(|suite| operator.suite == suite);
    match filter.operator {
        None => Ok(catalogue.operators.iter().filter(in_suite).collect()),
        Some(name) => {
            let operator = catalogue.operator(name).map_err(|error| error.to_string())?;
            Ok(std::iter::once(operator).filter(in_suite).collect())
        }
    }
}

pub(super) fn operators(catalogue: &Catalogue, filter: Filter<'_>) -> Result<Listing, String> {
    let mut table = Table::new([
        ("OPERATOR", Align::Left),
        ("SUITE", Align::Left),
        ("WEIGHT", Align::Right),
        ("SHAPES", Align::Right),
        ("DTYPE", Align::Left),
        ("KERNELS", Align::Right),
        ("STATUS", Align::Left),
    ]);
    let mut rows = Vec::new();
    for operator in selected(catalogue, filter)? {
        let status = operator.status().to_string();
        table.row([
            operator.name.clone(),
            operator.suite.clone(),
            units::percent(operator.weight),
            operator.shapes.len().to_string(),
            operator.dtype.clone(),
            operator.kernels.len().to_string(),
            status.clone(),
        ]);
        rows.push(json!({
            "name": operator.name,
            "suite": operator.suite,
            "id": operator.id,
            "weight": operator.weight,
            "shapes": operator.shapes.len(),
            "dtype": operator.dtype,
            "phase": operator.phase,
            "kernels": operator.kernels.len(),
            "distributions": operator.distributions(),
            "status": status,
        }));
    }
    for broken in catalogue
        .broken
        .iter()
        .filter(|broken| filter.suite.is_none_or(|suite| broken.suite == suite))
    {
        if filter.operator.is_some() {
            continue;
        }
        let blank = || "-".to_owned();
        table.row([
            broken.name.clone(),
            broken.suite.clone(),
            blank(),
            blank(),
            blank(),
            blank(),
            format!("broken: {broken}"),
        ]);
        rows.push(json!({
            "name": broken.name,
            "suite": broken.suite,
            "status": "broken",
            "reason": broken.reason,
            "file": broken.file,
            "line": broken.line,
        }));
    }
    Ok(Listing {
        name: "operators",
        rows,
        table,
        notes: Vec::new(),
    })
}

pub(super) fn shapes(catalogue: &Catalogue, filter: Filter<'_>) -> Result<Listing, String> {
    let profile = machine::profile(machine::DEFAULT)?;
    let mut table = Table::new([
        ("OPERATOR", Align::Left),
        ("SHAPE", Align::Left),
        ("FLOP", Align::Right),
        ("BYTES", Align::Right),
        ("INTENSITY", Align::Right),
        ("ROOF", Align::Right),
        ("BOUND", Align::Left),
        ("PARAMETERS", Align::Left),
    ]);
    let mut rows = Vec::new();
    for operator in selected(catalogue, filter)? {
        let all = operator.shapes.iter().map(|shape| (shape, false));
        for (shape, twin) in all.chain(operator.twins.iter().map(|shape| (shape, true))) {
            shape_row(operator, shape, twin, profile, &mut table, &mut rows)?;
        }
    }
    Ok(Listing {
        name: "shapes",
        rows,
        table,
        notes: vec![format!(
            "ROOF is the shortest possible time on {} by its datasheet; small-* are for the emulator.",
            profile.title
        )],
    })
}

fn shape_row(
    operator: &Operator,
    shape: &Shape,
    twin: bool,
    profile: &MachineProfile,
    table: &mut Table,
    rows: &mut Vec<Value>,
) -> Result<(), String> {
    let cost = operator.cost_of(shape)?;
    let roof = roofline::bound(&cost, profile);
    table.row([
        operator.name.clone(),
        shape.id.clone(),
        units::flops(roof.flops),
        units::bytes(roof.bytes),
        units::intensity(roof.intensity),
        units::time_us(roof.t_sol_us),
        roof.bound.name().to_owned(),
        shape.params.to_string(),
    ]);
    let params: Map<String, Value> = shape
        .params
        .0
        .iter()
        .map(|(name, value)| (name.clone(), json!(value)))
        .collect();
    let flops: Map<String, Value> = cost
        .flops
        .iter()
        .map(|(path, count)| (path.name().to_owned(), json!(count)))
        .collect();
    rows.push(json!({
        "operator": operator.name,
        "suite": operator.suite,
        "id": shape.id,
        "twin": twin,
        "params": params,
        "flops": flops,
        "bytes_read": cost.bytes_read,
        "bytes_written": cost.bytes_written,
        "roof": {"profile": profile.name, "t_sol_us": roof.t_sol_us, "bound": roof.bound.name(), "intensity": roof.intensity},
    }));
    Ok(())
}

pub(super) fn kernels(catalogue: &Catalogue, filter: Filter<'_>) -> Result<Listing, String> {
    let mut table = Table::new([
        ("KERNEL", Align::Left),
        ("LANGUAGE", Align::Left),
        ("WHERE", Align::Left),
    ]);
    let mut rows = Vec::new();
    for operator in selected(catalogue, filter)? {
        let references = operator.reference.iter().map(|source| (source, true));
        for (source, is_reference) in operator.kernels.iter().map(|source| (source, false)).chain(references) {
            let name = kernel_name(operator, source);
            let language = language(source);
            let path = source.path.as_ref().map(|path| path.display().to_string());
            table.row([
                name.clone(),
                language.to_owned(),
                path.clone().unwrap_or_else(|| "built in".to_owned()),
            ]);
            rows.push(json!({
                "name": name,
                "operator": operator.name,
                "suite": operator.suite,
                "language": language,
                "reference": is_reference,
                "path": path,
                "ptx": source.ptx.is_some(),
            }));
        }
    }
    Ok(Listing {
        name: "kernels",
        rows,
        table,
        notes: vec!["`ridgepoint run KERNEL` takes these names as well as files.".to_owned()],
    })
}

/// `rms_norm/starter`: what `run` takes.
fn kernel_name(operator: &Operator, source: &Source) -> String {
    let file = source.name.rsplit('/').next().unwrap_or(&source.name);
    let stem = file.rsplit_once('.').map_or(file, |(stem, _)| stem);
    format!("{}/{stem}", operator.name)
}

fn language(source: &Source) -> &'static str {
    match source.name.rsplit_once('.').map(|(_, extension)| extension) {
        Some("cu") => "cuda",
        Some("ptx") => "ptx",
        _ => "python",
    }
}

pub(super) fn suites(catalogue: &Catalogue) -> Listing {
    let mut table = Table::new([
        ("SUITE", Align::Left),
        ("OPERATORS", Align::Right),
        ("COMPLETE", Align::Right),
        ("SHAPES", Align::Right),
        ("WEIGHT", Align::Right),
        ("TITLE", Align::Left),
    ]);
    let mut rows = Vec::new();
    for suite in &catalogue.suites {
        let operators: Vec<_> = catalogue.of_suite(&suite.name).collect();
        let shapes: usize = operators.iter().map(|operator| operator.shapes.len()).sum();
        let complete = operators.iter().filter(|operator| operator.is_complete()).count();
        let weight: f64 = operators.iter().map(|operator| operator.weight).sum();
        table.row([
            suite.name.clone(),
            operators.len().to_string(),
            complete.to_string(),
            shapes.to_string(),
            units::percent(weight),
            suite.title.clone(),
        ]);
        rows.push(json!({
            "name": suite.name,
            "title": suite.title,
            "about": suite.about,
            "source": suite.source,
            "operators": operators.len(),
            "complete": complete,
            "shapes": shapes,
            "weight": weight,
        }));
    }
    Listing {
        name: "suites",
        rows,
        table,
        notes: Vec::new(),
    }
}

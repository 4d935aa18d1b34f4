//! What can only be checked with values: every expression, for every shape and twin.

use std::collections::BTreeSet;
use std::ops::Range;

use super::Reader;
use crate::problem::schema::{RawProblem, RawTensor, in_order};
use crate::problem::{Operator, Role, Tensor};
use crate::shape::{Params, Shape};

/// Reports each expression at most once, with the first shape for which it does not work out.
pub(super) fn shapes(reader: &mut Reader<'_>, operator: &Operator, raw: &RawProblem) {
    unique_names(reader, raw);
    if operator.shapes.is_empty() {
        reader.report(
            raw.shapes.table.span(),
            "there is no shape; add a row below the heading",
        );
    }
    if !operator.tensors.iter().any(|tensor| tensor.role != Role::In) {
        reader.report(
            raw.cost.bytes_written.span(),
            "there is no output; add a tensor with role = \"out\"",
        );
    }
    for shape in operator.shapes.iter().chain(&operator.twins) {
        derived(reader, operator, raw, shape);
        costs(reader, operator, raw, shape);
        let scope = operator.scope(shape);
        for (tensor, raw) in operator.tensors.iter().zip(&raw.tensors) {
            tensor_at(reader, tensor, raw, &scope, shape);
        }
        if !reader.findings.is_empty() {
            return;
        }
    }
}

fn unique_names(reader: &mut Reader<'_>, raw: &RawProblem) {
    let mut places: Vec<(&str, Range<usize>)> = Vec::new();
    places.extend(
        in_order(&raw.params)
            .into_iter()
            .map(|(name, value)| (name, value.span())),
    );
    places.extend(
        in_order(&raw.constants)
            .into_iter()
            .map(|(name, value)| (name, value.span())),
    );
    places.extend(
        in_order(&raw.derived)
            .into_iter()
            .map(|(name, value)| (name, value.span())),
    );
    places.extend(
        raw.tensors
            .iter()
            .map(|tensor| (tensor.name.get_ref().as_str(), tensor.name.span())),
    );
    let mut seen = BTreeSet::new();
    for (name, span) in places {
        if !seen.insert(name) {
            reader.report(
                span,
                format!("the name `{name}` is taken; parameters, constants, derived values and tensors share one set of names"),
            );
        }
    }
}

fn derived(reader: &mut Reader<'_>, operator: &Operator, raw: &RawProblem, shape: &Shape) {
    let scope = operator.scope(shape);
    for (name, expr) in &operator.derived {
        if scope.get(name).is_some() {
            continue;
        }
        let reason = match expr.eval(&scope) {
            Err(error) => error.to_string(),
            Ok(_) => "it uses a name that is defined below it".to_owned(),
        };
        if let Some(place) = raw.derived.get(name) {
            reader.report(
                place.span(),
                format!("derived `{name} = \"{expr}\"`: {reason} ({})", of(shape)),
            );
        }
    }
}

fn costs(reader: &mut Reader<'_>, operator: &Operator, raw: &RawProblem, shape: &Shape) {
    let scope = operator.scope(shape);
    let mut places: Vec<_> = in_order(&raw.cost.flops)
        .into_iter()
        .map(|(_, value)| value.span())
        .collect();
    places.push(raw.cost.bytes_read.span());
    places.push(raw.cost.bytes_written.span());
    let exprs = operator.cost.flops.iter().map(|(_, expr)| expr);
    let exprs = exprs.chain([&operator.cost.bytes_read, &operator.cost.bytes_written]);
    for (expr, place) in exprs.zip(places) {
        match expr.eval_int(&scope) {
            Ok(value) if value >= 0 => {}
            Ok(value) => reader.report(place, format!("cost `{expr}` is {value} ({})", of(shape))),
            Err(error) => reader.report(place, format!("cost `{expr}`: {error} ({})", of(shape))),
        }
    }
}

fn tensor_at(reader: &mut Reader<'_>, tensor: &Tensor, raw: &RawTensor, scope: &Params, shape: &Shape) {
    if let Err(error) = tensor.concrete(scope) {
        reader.report(raw.name.span(), format!("{error} ({})", of(shape)));
    }
    for (distribution, recipe) in &tensor.recipes {
        let Some(place) = raw.recipes.get(distribution) else {
            continue;
        };
        let problem = match recipe.at(scope) {
            Err(error) => Some(error),
            Ok(recipe) => recipe.complaint(scope),
        };
        if let Some(problem) = problem {
            reader.report(
                place.span(),
                format!(
                    "tensor `{}`, distribution `{distribution}`: {problem} ({})",
                    tensor.name,
                    of(shape)
                ),
            );
        }
    }
    for distribution in tensor.contracts.keys() {
        let named = raw.contracts.get(distribution).map(toml::Spanned::span);
        let place = named.or_else(|| raw.contract.as_ref().map(toml::Spanned::span));
        if let (Err(error), Some(place)) = (tensor.contract(distribution, scope), place) {
            reader.report(place, format!("{error} ({})", of(shape)));
        }
    }
}

fn of(shape: &Shape) -> String {
    format!("shape {}: {}", shape.id, shape.params)
}

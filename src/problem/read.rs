//! Reading one `problem.toml`: syntax, then meaning, with the line of everything that is wrong.

mod check;

use std::collections::BTreeMap;
use std::ops::Range;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use toml::Spanned;

use super::per_shape::Field;
use super::schema::{RawNumber, RawProblem, RawTensor, Table, in_order};
use super::table;
use super::{
    Contract, Cost, DISTRIBUTIONS, Operator, PUBLISHED, Param, Path, PerShape, Recipe, Role, Tensor, TensorType,
};
use crate::dtype::DType;
use crate::expr::Expr;
use crate::shape::{Params, Shape};
use crate::suggest;

/// Shapes small enough for the emulator have ids that start with this.
pub const TWIN_PREFIX: &str = "small-";

/// Something wrong in a file, and the line (from 1) where.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    pub line: Option<usize>,
    /// What is wrong, and what to do about it.
    pub message: String,
}

/// Reads a problem: the operator without its sources, or everything that is wrong with the text.
///
/// # Errors
/// All findings, in the order of the file; at least one.
pub fn problem(suite: &str, name: &str, text: &str) -> Result<Operator, Vec<Finding>> {
    let raw: RawProblem = parse(text)?;
    let mut reader = Reader::new(text);
    let operator = reader.operator(suite, name, &raw);
    if reader.findings.is_empty() {
        check::shapes(&mut reader, &operator, &raw);
    }
    reader.finish(operator)
}

/// Parses TOML into `T`, placing the error.
pub(super) fn parse<T: DeserializeOwned>(text: &str) -> Result<T, Vec<Finding>> {
    toml::from_str(text).map_err(|error| {
        vec![Finding {
            line: error.span().map(|span| line_at(text, span.start)),
            message: error.message().trim_end().replace('\n', "; "),
        }]
    })
}

fn line_at(text: &str, offset: usize) -> usize {
    text.get(..offset).unwrap_or(text).matches('\n').count() + 1
}

/// Collects findings while the raw problem becomes an operator.
struct Reader<'a> {
    text: &'a str,
    findings: Vec<Finding>,
}

impl<'a> Reader<'a> {
    const fn new(text: &'a str) -> Self {
        Self {
            text,
            findings: Vec::new(),
        }
    }

    fn finish(mut self, operator: Operator) -> Result<Operator, Vec<Finding>> {
        if self.findings.is_empty() {
            return Ok(operator);
        }
        self.findings.sort_by_key(|finding| finding.line);
        Err(self.findings)
    }

    fn report(&mut self, span: Range<usize>, message: impl Into<String>) {
        self.report_line(line_at(self.text, span.start), message);
    }

    fn report_line(&mut self, line: usize, message: impl Into<String>) {
        self.findings.push(Finding {
            line: Some(line),
            message: message.into(),
        });
    }

    fn operator(&mut self, suite: &str, name: &str, raw: &RawProblem) -> Operator {
        let params = in_order(&raw.params)
            .into_iter()
            .map(|(name, meaning)| Param {
                name: name.to_owned(),
                meaning: meaning.get_ref().clone(),
            })
            .collect();
        let constants = in_order(&raw.constants)
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value.get_ref().clone()))
            .collect();
        Operator {
            name: name.to_owned(),
            suite: suite.to_owned(),
            id: raw.id.clone().unwrap_or_else(|| name.to_owned()),
            weight: self.weight(raw.weight.as_ref()),
            dtype: raw.dtype.clone(),
            phase: raw.phase.clone(),
            maths: raw.maths.trim().to_owned(),
            notes: raw.notes.iter().map(|note| note.trim().to_owned()).collect(),
            params,
            constants: Params(constants),
            derived: self.named_exprs(&raw.derived),
            tensors: raw
                .tensors
                .iter()
                .map(|tensor| self.tensor(tensor, &raw.params))
                .collect(),
            cost: self.cost(raw),
            shapes: self.shapes(&raw.shapes.table, raw, false),
            twins: raw
                .shapes
                .twins
                .as_ref()
                .map_or_else(Vec::new, |twins| self.shapes(twins, raw, true)),
            reference: None,
            kernels: Vec::new(),
        }
    }

    fn weight(&mut self, raw: Option<&Spanned<f64>>) -> f64 {
        let Some(raw) = raw else { return 0.0 };
        let weight = *raw.get_ref();
        if !(weight.is_finite() && weight >= 0.0) {
            self.report(raw.span(), format!("the weight is {weight}; it must be 0 or more"));
        }
        weight
    }

    /// An expression; where it is malformed, a finding and a stand-in.
    fn expr(&mut self, text: &str, span: Range<usize>) -> Expr {
        Expr::parse(text).unwrap_or_else(|error| {
            self.report(span, format!("`{text}`: {error} (character {})", error.offset + 1));
            Expr::int(0)
        })
    }

    fn number(&mut self, raw: &Spanned<RawNumber>) -> Expr {
        self.expr(&raw.get_ref().text(), raw.span())
    }

    fn named_exprs(&mut self, table: &Table<String>) -> Vec<(String, Expr)> {
        in_order(table)
            .into_iter()
            .map(|(name, text)| (name.to_owned(), self.expr(text.get_ref(), text.span())))
            .collect()
    }

    fn cost(&mut self, raw: &RawProblem) -> Cost {
        let mut flops = Vec::new();
        for (name, text) in in_order(&raw.cost.flops) {
            let expr = self.expr(text.get_ref(), text.span());
            if let Some(path) = Path::ALL.into_iter().find(|path| path.name() == name) {
                flops.push((path, expr));
            } else {
                let known = Path::ALL.map(Path::name).join(" ");
                self.report(text.span(), format!("no arithmetic path `{name}`; known are {known}"));
            }
        }
        Cost {
            flops,
            bytes_read: self.number(&raw.cost.bytes_read),
            bytes_written: self.number(&raw.cost.bytes_written),
        }
    }

    fn tensor(&mut self, raw: &RawTensor, params: &Table<String>) -> Tensor {
        let name = raw.name.get_ref().clone();
        let dtype_text = raw.dtype.get_ref();
        let dtype = match dtype_text.parse::<DType>() {
            Ok(dtype) => TensorType::Fixed(dtype),
            Err(_) if params.contains_key(dtype_text) => TensorType::Param(dtype_text.clone()),
            Err(error) => {
                self.report(
                    raw.dtype.span(),
                    format!("tensor `{name}`: {error}, or a parameter that holds one"),
                );
                TensorType::Fixed(DType::F32)
            }
        };
        let recipes = self.recipes(raw);
        if raw.role == Role::Out && !recipes.is_empty() {
            self.report(
                raw.name.span(),
                format!("tensor `{name}` is an output; remove its recipes"),
            );
        }
        if raw.role != Role::Out && !recipes.contains_key(PUBLISHED) {
            self.report(
                raw.name.span(),
                format!("tensor `{name}` is an input; give it a recipe named `{PUBLISHED}`"),
            );
        }
        Tensor {
            dims: raw.dims.iter().map(|dim| self.number(dim)).collect(),
            contracts: self.contracts(raw),
            name,
            dtype,
            role: raw.role,
            recipes,
        }
    }

    fn recipes(&mut self, raw: &RawTensor) -> BTreeMap<String, PerShape<Recipe>> {
        self.by_distribution("kind", &raw.recipes)
    }

    fn contracts(&mut self, raw: &RawTensor) -> BTreeMap<String, PerShape<Contract>> {
        let mut contracts = self.by_distribution("rule", &raw.contracts);
        if let Some(contract) = &raw.contract
            && let Some(contract) = self.variant("rule", contract)
        {
            contracts.insert(PUBLISHED.to_owned(), contract);
        }
        if raw.role == Role::In && !contracts.is_empty() {
            let message = format!("tensor `{}` is an input; remove its contract", raw.name.get_ref());
            self.report(raw.name.span(), message);
        }
        contracts
    }

    fn by_distribution<T: DeserializeOwned + Serialize>(
        &mut self,
        tag: &'static str,
        table: &Table<Table<RawNumber>>,
    ) -> BTreeMap<String, PerShape<T>> {
        let mut variants = BTreeMap::new();
        for (distribution, fields) in in_order(table) {
            if !DISTRIBUTIONS.contains(&distribution) {
                let hint = suggest::hint(distribution, DISTRIBUTIONS);
                let known = DISTRIBUTIONS.join(" ");
                self.report(
                    fields.span(),
                    format!("no distribution `{distribution}`{hint}; known are {known}"),
                );
            }
            if let Some(variant) = self.variant(tag, fields) {
                variants.insert(distribution.to_owned(), variant);
            }
        }
        variants
    }

    /// A recipe or a contract: its tag, and its numbers as expressions.
    fn variant<T: DeserializeOwned + Serialize>(
        &mut self,
        tag: &'static str,
        raw: &Spanned<Table<RawNumber>>,
    ) -> Option<PerShape<T>> {
        let Some(RawNumber::Text(variant)) = raw.get_ref().get(tag).map(Spanned::get_ref) else {
            self.report(raw.span(), format!("`{tag} = \"...\"` is missing"));
            return None;
        };
        let mut fields = Vec::new();
        for (name, value) in in_order(raw.get_ref()) {
            if name == tag {
                continue;
            }
            let field = match value.get_ref() {
                // The one field that names a value instead of being one.
                RawNumber::Text(text) if name == "total" => Field::Text(text.clone()),
                _ => Field::Number(self.number(value)),
            };
            fields.push((name.to_owned(), field));
        }
        Some(PerShape::new((tag, variant.clone()), fields))
    }

    fn shapes(&mut self, raw: &Spanned<String>, problem: &RawProblem, twins: bool) -> Vec<Shape> {
        let params: Vec<&str> = in_order(&problem.params).into_iter().map(|(name, _)| name).collect();
        match table::parse(raw.get_ref(), &params) {
            Ok(rows) => {
                for (line, shape) in &rows {
                    if shape.id.starts_with(TWIN_PREFIX) != twins {
                        let advice = if twins { "must" } else { "must not" };
                        self.report_line(
                            self.table_line(raw, *line),
                            format!("the id `{}` {advice} start with `{TWIN_PREFIX}` here", shape.id),
                        );
                    }
                }
                rows.into_iter().map(|(_, shape)| shape).collect()
            }
            Err(error) => {
                self.report_line(self.table_line(raw, error.line), error.message);
                Vec::new()
            }
        }
    }

    /// The file's line of a table's line: TOML drops the line break after the opening quotes.
    fn table_line(&self, raw: &Spanned<String>, line: usize) -> usize {
        let span = raw.span();
        let opening = &self.text[span.start..span.end.min(self.text.len())];
        let body_is_below = opening
            .trim_start_matches(['"', '\''])
            .trim_start_matches('\r')
            .starts_with('\n');
        line_at(self.text, span.start) + usize::from(body_is_below) + line
    }
}

//! A header's TOML to the launch plan as written.

use std::collections::BTreeMap;
use std::path::Path;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::error::{ErrorKind, KernelError};
use super::place::{Place, Placed};
use super::reader::{self, Source, Table};
use super::{ArgSpec, CompileSpec, Header, LaunchSpec, ScalarType, ScratchSpec, TensorMapSpec, Tunable};
use crate::dtype::DType;

const TOP: [&str; 7] = ["operator", "note", "tune", "launch", "scratch", "tensormap", "compile"];
const LAUNCH: [&str; 8] = [
    "kernel",
    "grid",
    "block",
    "cluster",
    "shared",
    "cooperative",
    "when",
    "args",
];
const SCRATCH: [&str; 4] = ["name", "dtype", "elements", "zeroed"];
const TENSORMAP: [&str; 8] = [
    "name",
    "tensor",
    "dims",
    "tile",
    "swizzle",
    "interleave",
    "l2_promotion",
    "fill_nan",
];
const COMPILE: [&str; 2] = ["options", "arch"];

/// A tensor map has at most five dimensions (PTX ISA, "Tensor dimension, size and format").
const MAX_RANK: usize = 5;

/// Reads the TOML at `base..` of a file's text.
pub(super) fn parse(path: &Path, text: &str, base: usize, toml: &str) -> Result<Header, KernelError> {
    let source = Source { path, text, base };
    let document = DeTable::parse(toml).map_err(|error| {
        let offset = error.span().map_or(0, |span| span.start);
        source.error(offset, format!("not TOML: {}", error.message()))
    })?;
    let top = Table::new(source, document.get_ref(), "the header", 0, &TOP)?;
    let tensormaps = top
        .tables("tensormap", "[[tensormap]]", &TENSORMAP)?
        .iter()
        .map(tensormap)
        .collect::<Result<Vec<_>, _>>()?;
    let scratch = top
        .tables("scratch", "[[scratch]]", &SCRATCH)?
        .iter()
        .map(scratch)
        .collect::<Result<Vec<_>, _>>()?;
    let launches = top
        .tables("launch", "[[launch]]", &LAUNCH)?
        .iter()
        .map(|table| launch(table, &tensormaps))
        .collect::<Result<Vec<_>, _>>()?;
    if launches.is_empty() {
        let message = "the header has no [[launch]]: expected at least one, with `kernel`, `grid`, `block` and `args`";
        return Err(source.error(0, message));
    }
    let operator = top.string("operator")?;
    let header = Header {
        operator_place: operator.as_ref().map(|operator| operator.place),
        operator: operator.map(|operator| operator.value),
        note: top.string("note")?.map(|note| note.value),
        tune: tune(&top)?,
        launches,
        scratch,
        tensormaps,
        compile: compile(&top)?,
    };
    unique_names(path, &header)?;
    Ok(header)
}

fn launch(table: &Table<'_>, tensormaps: &[TensorMapSpec]) -> Result<LaunchSpec, KernelError> {
    let dims = |key: &str| {
        table
            .exprs(key, 3)?
            .ok_or_else(|| table.missing(key, "one to three expressions, such as [\"token_count\"]"))
    };
    let args = table
        .strings("args")?
        .ok_or_else(|| table.missing("args", "an array of arguments, such as [\"x\", \"i32:token_count\"]"))?;
    Ok(LaunchSpec {
        kernel: table.name(
            "kernel",
            "the name of an extern \"C\" __global__ function or a PTX .entry",
        )?,
        grid: dims("grid")?,
        block: dims("block")?,
        cluster: table.exprs("cluster", 3)?,
        shared: table.expr("shared")?,
        cooperative: table.boolean("cooperative")?,
        when: table.expr("when")?,
        args: args
            .into_iter()
            .map(|text| arg(table, text, tensormaps))
            .collect::<Result<_, _>>()?,
        line: table.source.place(table.offset).line as usize,
    })
}

fn arg(table: &Table<'_>, text: Placed<String>, tensormaps: &[TensorMapSpec]) -> Result<Placed<ArgSpec>, KernelError> {
    let place = text.place;
    let wrong = |message: String| Err(KernelError::new(ErrorKind::Header, table.source.path, message).at(place));
    let Some((ty, expr)) = text.split_once(':') else {
        if !reader::is_name(&text) {
            return wrong(format!(
                "argument `{}`: expected a buffer's name, or a type and an expression such as `i32:{}`",
                *text, *text
            ));
        }
        let is_map = tensormaps.iter().any(|map| map.name == *text);
        let spec = if is_map { ArgSpec::TensorMap } else { ArgSpec::Buffer };
        return Ok(Placed::new(spec(text.value), place));
    };
    let Some(ty_known) = ScalarType::parse(ty.trim()) else {
        let known = ScalarType::ALL.map(ScalarType::name);
        return wrong(format!(
            "argument `{}`: unknown type `{}`; expected one of {}",
            *text,
            ty.trim(),
            known.join(" ")
        ));
    };
    let start = place.inside(&text, ty.chars().count() + 1);
    let expr = table.parse_expr(&Placed::new(expr.to_owned(), start))?;
    Ok(Placed::new(ArgSpec::Scalar { ty: ty_known, expr }, place))
}

fn scratch(table: &Table<'_>) -> Result<ScratchSpec, KernelError> {
    let expected = "an element type such as \"f32\"";
    let dtype = table.string("dtype")?.ok_or_else(|| table.missing("dtype", expected))?;
    Ok(ScratchSpec {
        name: table.name("name", "a name for the buffer")?,
        dtype: dtype.parse::<DType>().map_err(|error| {
            KernelError::new(ErrorKind::Header, table.source.path, error.to_string()).at(dtype.place)
        })?,
        elements: table
            .expr("elements")?
            .ok_or_else(|| table.missing("elements", "an expression for the number of elements"))?,
        zeroed: table.boolean("zeroed")?,
    })
}

fn tensormap(table: &Table<'_>) -> Result<TensorMapSpec, KernelError> {
    Ok(TensorMapSpec {
        name: table.name("name", "a name for the tensor map")?.value,
        tensor: table.name("tensor", "the name of the tensor or scratch buffer it covers")?,
        dims: table.exprs("dims", MAX_RANK)?,
        tile: table
            .exprs("tile", MAX_RANK)?
            .ok_or_else(|| table.missing("tile", "the box, innermost first, one expression per dimension"))?,
        swizzle: table.choice("swizzle", &[0, 32, 64, 128])?,
        interleave: table.choice("interleave", &[0, 16, 32])?,
        l2_promotion: table.choice("l2_promotion", &[0, 64, 128, 256])?,
        fill_nan: table.boolean("fill_nan")?,
        place: table.source.place(table.offset),
    })
}

fn tune(top: &Table<'_>) -> Result<Vec<Tunable>, KernelError> {
    let source = top.source;
    top.entries("tune", "[tune]")?
        .into_iter()
        .map(|(name, value)| {
            let at = value.span().start;
            if !reader::is_name(&name) {
                let message = format!("tunable `{}`: expected a name that C and expressions can use", *name);
                return Err(KernelError::new(ErrorKind::Header, source.path, message).at(name.place));
            }
            let values = match value.get_ref() {
                DeValue::Array(items) if !items.is_empty() => items
                    .iter()
                    .map(|item| tune_value(source, &name, item))
                    .collect::<Result<Vec<_>, _>>()?,
                DeValue::Array(_) => {
                    let message = format!(
                        "tunable `{}`: expected at least one value; the first is the default",
                        *name
                    );
                    return Err(source.error(at, message));
                }
                _ => vec![tune_value(source, &name, value)?],
            };
            Ok(Tunable {
                name: name.value,
                values,
                place: name.place,
            })
        })
        .collect()
}

fn tune_value(source: Source<'_>, name: &str, value: &Spanned<DeValue<'_>>) -> Result<i64, KernelError> {
    value
        .get_ref()
        .as_integer()
        .and_then(|integer| i64::from_str_radix(integer.as_str(), integer.radix()).ok())
        .ok_or_else(|| {
            let found = reader::describe(value.get_ref());
            let message = format!("tunable `{name}`: expected an integer or an array of integers, found {found}");
            source.error(value.span().start, message)
        })
}

fn compile(top: &Table<'_>) -> Result<CompileSpec, KernelError> {
    let Some(table) = top.table("compile", "[compile]", &COMPILE)? else {
        return Ok(CompileSpec::default());
    };
    let arch = table.string("arch")?;
    if let Some(arch) = &arch {
        let digits = arch.strip_prefix("sm_").or_else(|| arch.strip_prefix("compute_"));
        let valid = digits.is_some_and(|digits| {
            let number = digits.trim_end_matches(['a', 'f']);
            digits.len() <= number.len() + 1
                && matches!(number.len(), 2 | 3)
                && number.bytes().all(|b| b.is_ascii_digit())
        });
        if !valid {
            let message = format!(
                "`arch` in [compile]: expected a target such as \"sm_90a\", found `{}`",
                **arch
            );
            return Err(KernelError::new(ErrorKind::Header, top.source.path, message).at(arch.place));
        }
    }
    let options = table.strings("options")?.unwrap_or_default();
    Ok(CompileSpec {
        options: options.into_iter().map(|option| option.value).collect(),
        arch: arch.map(|arch| arch.value),
    })
}

/// Scratch buffers, tensor maps and tunables share the names that expressions and arguments use.
fn unique_names(path: &Path, header: &Header) -> Result<(), KernelError> {
    let mut seen: BTreeMap<&str, (&str, Place)> = BTreeMap::new();
    let scratch = header
        .scratch
        .iter()
        .map(|spec| ("scratch buffer", spec.name.as_str(), spec.name.place));
    let maps = header
        .tensormaps
        .iter()
        .map(|spec| ("tensor map", spec.name.as_str(), spec.place));
    let tunables = header
        .tune
        .iter()
        .map(|tunable| ("tunable", tunable.name.as_str(), tunable.place));
    for (what, name, place) in scratch.chain(maps).chain(tunables) {
        if let Some((other, first)) = seen.insert(name, (what, place)) {
            let message = format!(
                "the name `{name}` of a {what} is already that of a {other} in line {}",
                first.line
            );
            return Err(KernelError::new(ErrorKind::Header, path, message).at(place));
        }
    }
    Ok(())
}

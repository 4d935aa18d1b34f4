//! Shape tables: a heading with `id` and the parameters, then one shape a line, in columns parted by spaces.

use crate::shape::{Params, Scalar, Shape};

/// What is wrong with a table, and on which of its lines (from 0).
#[derive(Debug, PartialEq, Eq)]
pub(super) struct TableError {
    pub(super) line: usize,
    pub(super) message: String,
}

/// Reads a table; the columns must be `id` and `params`, in any order. Shapes get their parameters in the order of `params`.
pub(super) fn parse(text: &str, params: &[&str]) -> Result<Vec<(usize, Shape)>, TableError> {
    let mut lines = text
        .lines()
        .enumerate()
        .filter(|(_, line)| !line.trim().is_empty() && !line.trim_start().starts_with('#'));
    let Some((line, heading)) = lines.next() else {
        return Err(TableError {
            line: 0,
            message: "the table is empty: its first line names the columns".to_owned(),
        });
    };
    let columns: Vec<&str> = heading.split_whitespace().collect();
    check_heading(&columns, params).map_err(|message| TableError { line, message })?;
    let mut shapes: Vec<(usize, Shape)> = Vec::new();
    for (line, row) in lines {
        let shape = row_shape(row, &columns, params).map_err(|message| TableError { line, message })?;
        if shapes.iter().any(|(_, other)| other.id == shape.id) {
            return Err(TableError {
                line,
                message: format!("the id `{}` is there twice", shape.id),
            });
        }
        shapes.push((line, shape));
    }
    Ok(shapes)
}

fn check_heading(columns: &[&str], params: &[&str]) -> Result<(), String> {
    for expected in std::iter::once(&"id").chain(params) {
        match columns.iter().filter(|column| *column == expected).count() {
            1 => {}
            0 => return Err(format!("the heading lacks the column `{expected}`")),
            _ => return Err(format!("the heading has the column `{expected}` twice")),
        }
    }
    match columns
        .iter()
        .find(|column| **column != "id" && !params.contains(column))
    {
        Some(unknown) => Err(format!("the column `{unknown}` is not a parameter; add it to [params]")),
        None => Ok(()),
    }
}

fn row_shape(row: &str, columns: &[&str], params: &[&str]) -> Result<Shape, String> {
    let cells: Vec<&str> = row.split_whitespace().collect();
    if cells.len() != columns.len() {
        return Err(format!(
            "the row has {} cells for {} columns",
            cells.len(),
            columns.len()
        ));
    }
    let cell = |name: &str| {
        let index = columns.iter().position(|column| *column == name)?;
        cells.get(index).copied()
    };
    let id = cell("id").unwrap_or_default().to_owned();
    let values = params
        .iter()
        .filter_map(|name| Some(((*name).to_owned(), scalar(cell(name)?))))
        .collect();
    Ok(Shape {
        id,
        params: Params(values),
    })
}

/// A cell: an integer, a number, `true` or `false`, or else text.
fn scalar(text: &str) -> Scalar {
    if let Ok(value) = text.parse::<i64>() {
        return Scalar::Int(value);
    }
    let is_numeric = text.starts_with(|first: char| first.is_ascii_digit() || matches!(first, '-' | '+' | '.'));
    if is_numeric && let Ok(value) = text.parse::<f64>() {
        return Scalar::Float(value);
    }
    match text {
        "true" => Scalar::Bool(true),
        "false" => Scalar::Bool(false),
        _ => Scalar::Text(text.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_become_shapes() {
        let shapes = parse(
            "\n# largest first\nid  rows dtype\n7   12   bf16\n07  3    f16\n",
            &["rows", "dtype"],
        )
        .unwrap();
        assert_eq!(shapes[0].0, 3);
        assert_eq!(shapes[0].1.params.to_string(), "rows=12 dtype=bf16");
        assert_eq!(shapes[1].1.id, "07");
    }

    #[test]
    fn mistakes_are_placed() {
        for (text, line, message) in [
            ("id\n1", 0, "the heading lacks the column `rows`"),
            (
                "id rows more\n",
                0,
                "the column `more` is not a parameter; add it to [params]",
            ),
            ("id rows\n1 2\n3", 2, "the row has 1 cells for 2 columns"),
            ("id rows\n1 2\n1 3", 2, "the id `1` is there twice"),
            ("\n", 0, "the table is empty: its first line names the columns"),
        ] {
            let error = parse(text, &["rows"]).unwrap_err();
            assert_eq!((error.line, error.message.as_str()), (line, message));
        }
    }
}

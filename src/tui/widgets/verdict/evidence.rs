//! Evidence in rows: messages with their places, refused accesses, waiting threads, and the mismatch map as a picture.

use unicode_width::UnicodeWidthStr;

use crate::tui::escape;
use crate::tui::theme::Slot;
use crate::tui::widgets::row::Row;
use crate::tui::widgets::text::{fit, wrap};
use crate::units::{count, percent, significant};
use crate::verdict::{ElementEvidence, Evidence, Location, OutputEvidence, Severity};

/// The picture is never larger than this, columns and rows.
const MAP_SIZE: (usize, usize) = (24, 8);
/// Columns of the picture in a pane of less than [`ROOMY`] columns.
const NARROW_MAP: usize = 20;
const ROOMY: usize = 66;
/// Under this width the numbers stand below the picture instead of beside it.
const BESIDE: usize = 56;

pub(super) fn rows(evidence: &Evidence, width: usize) -> Vec<Row> {
    match evidence {
        Evidence::Diagnostic { severity, message, at } => diagnostic(*severity, message, at.as_ref(), width),
        Evidence::Missing { what, at } => {
            let text = format!("not supported here: {what}");
            diagnostic(Severity::Error, &text, at.as_ref(), width)
        }
        Evidence::Access { .. } => access(evidence, width),
        Evidence::Waiting {
            barrier,
            cta,
            waiting,
            missing,
            at,
        } => {
            let mut rows = vec![place(at.as_ref()).text(format!("barrier {barrier} of block {}", tuple(*cta)))];
            rows.extend(labelled("waiting", waiting, width));
            rows.extend(labelled("missing", missing, width));
            rows
        }
        Evidence::Output(output) => output_rows(output, width),
        Evidence::Note { text } => wrap(&escape::line(text), width)
            .into_iter()
            .map(|line| Row::new().text(line))
            .collect(),
    }
}

/// `line 31:5  `, or the file's name before it.
fn place(at: Option<&Location>) -> Row {
    match at {
        None => Row::new(),
        Some(at) => {
            let column = at.column.map(|column| format!(":{column}")).unwrap_or_default();
            let place = if at.file.is_empty() {
                format!("line {}{column}  ", at.line)
            } else {
                format!("{}:{}{column}  ", escape::line(&at.file), at.line)
            };
            Row::new().add(Slot::Accent, place)
        }
    }
}

fn diagnostic(severity: Severity, message: &str, at: Option<&Location>, width: usize) -> Vec<Row> {
    let (name, slot) = match severity {
        Severity::Error => ("error", Slot::Bad),
        Severity::Warning => ("warning", Slot::Warning),
        Severity::Info => ("note", Slot::Info),
    };
    let head = place(at).add(slot, name);
    let mut lines = message.lines().map(|line| escape::expand(line, 4));
    let first = lines.next().unwrap_or_default();
    let mut rows = if head.width() + 2 + first.width() <= width {
        vec![head.text(format!("  {first}"))]
    } else {
        let mut rows = vec![head];
        rows.extend(indented(&first, width));
        rows
    };
    for line in lines {
        rows.extend(indented(&line, width));
    }
    rows
}

fn indented(text: &str, width: usize) -> impl Iterator<Item = Row> {
    wrap(text, width.saturating_sub(2))
        .into_iter()
        .map(|line| Row::new().text(format!("  {line}")))
}

fn labelled(label: &str, text: &str, width: usize) -> Vec<Row> {
    let indent = label.len() + 2;
    wrap(&escape::line(text), width.saturating_sub(indent))
        .into_iter()
        .enumerate()
        .map(|(index, line)| {
            let lead = if index == 0 {
                format!("{label}  ")
            } else {
                " ".repeat(indent)
            };
            Row::new().muted(lead).text(line)
        })
        .collect()
}

fn tuple([x, y, z]: [u32; 3]) -> String {
    format!("({x}, {y}, {z})")
}

fn access(evidence: &Evidence, width: usize) -> Vec<Row> {
    let Evidence::Access {
        access,
        space,
        buffer,
        offset,
        size,
        thread,
        cta,
        at,
        ptx_line,
    } = evidence
    else {
        return Vec::new();
    };
    let mut rows = vec![place(at.as_ref()).text(format!("{access}, {space} memory"))];
    if let (Some(buffer), Some(offset)) = (buffer, offset) {
        let size = size
            .map(|size| format!(", which is {} bytes long", count(size)))
            .unwrap_or_default();
        let sign = if *offset < 0 { "−" } else { "" };
        let text = format!("byte {sign}{} of `{buffer}`{size}", count(offset.unsigned_abs()));
        rows.extend(labelled("where", &text, width));
    }
    let who = match (thread, cta) {
        (Some(thread), Some(cta)) => Some(format!("thread {} of block {}", tuple(*thread), tuple(*cta))),
        (Some(thread), None) => Some(format!("thread {}", tuple(*thread))),
        (None, Some(cta)) => Some(format!("a thread of block {}", tuple(*cta))),
        (None, None) => None,
    };
    if let Some(who) = who {
        rows.extend(labelled("who  ", &who, width));
    }
    if let Some(line) = ptx_line {
        rows.push(Row::new().muted("PTX    ").text(format!("line {line}")));
    }
    rows
}

fn output_rows(output: &OutputEvidence, width: usize) -> Vec<Row> {
    let columns = if width < ROOMY { NARROW_MAP } else { MAP_SIZE.0 };
    let picture = map_rows(&output.map, (columns, MAP_SIZE.1));
    let map_width = picture.first().map_or(0, Row::width);
    let beside = width >= BESIDE && map_width > 0;
    let text_width = if beside { width - map_width - 3 } else { width };
    let numbers = output_numbers(output, text_width);
    if !beside {
        return picture.into_iter().chain(numbers).collect();
    }
    let count = picture.len().max(numbers.len());
    (0..count)
        .map(|index| {
            let left = picture.get(index).cloned().unwrap_or_default().to(map_width + 3);
            left.join(numbers.get(index).cloned().unwrap_or_default())
        })
        .collect()
}

fn output_numbers(output: &OutputEvidence, width: usize) -> Vec<Row> {
    let dims: Vec<String> = output.dims.iter().map(ToString::to_string).collect();
    let mut rows = vec![Row::new().bold(Slot::Text, output.output.clone()).muted(fit(
        &format!("  {} [{}]", output.dtype, dims.join(", ")),
        width.saturating_sub(output.output.len()),
    ))];
    let share = output.mismatches as f64 / output.elements.max(1) as f64;
    rows.extend(labelled(
        "wrong",
        &format!("{} ({})", count(output.mismatches), percent(share)),
        width,
    ));
    if let Some(pattern) = &output.pattern {
        rows.extend(
            wrap(&escape::line(pattern), width)
                .into_iter()
                .map(|line| Row::new().add(Slot::Warning, line)),
        );
    }
    if output.unwritten > 0 {
        let text = format!("{} never written: the poison is still there", count(output.unwritten));
        rows.extend(wrap(&text, width).into_iter().map(|line| Row::new().text(line)));
    }
    if output.nan + output.inf > 0 {
        rows.extend(labelled(
            "NaN",
            &format!("{}   inf {}", count(output.nan), count(output.inf)),
            width,
        ));
    }
    for (label, element) in [("first", &output.first), ("worst", &output.worst)] {
        if let Some(element) = element {
            rows.extend(labelled(label, &element_text(element), width));
        }
    }
    let errors = format!(
        "abs {}  rel {}  L2 {}",
        significant(output.max_abs),
        significant(output.max_rel),
        significant(output.rel_l2)
    );
    rows.extend(labelled("error", &errors, width));
    rows
}

fn element_text(element: &ElementEvidence) -> String {
    let index: Vec<String> = element.index.iter().map(ToString::to_string).collect();
    format!(
        "[{}]  want {}  got {}",
        index.join(", "),
        significant(element.expected),
        significant(element.got)
    )
}

/// The mismatch map as rows of shades; a cell stands for the worst of what it covers, so that nothing wrong vanishes.
pub fn map_rows(map: &[Vec<f32>], (columns, rows): (usize, usize)) -> Vec<Row> {
    let height = map.len().min(rows);
    let width = map.iter().map(Vec::len).max().unwrap_or(0);
    let cells = width.min(columns);
    (0..height)
        .map(|row| {
            let source_rows = span(row, height, map.len());
            let mut drawn = Row::new();
            for column in 0..cells {
                let source_columns = span(column, cells, width);
                let worst = map[source_rows.clone()]
                    .iter()
                    .flat_map(|line| line.iter().take(source_columns.end).skip(source_columns.start))
                    .fold(0.0_f32, |worst, &share| worst.max(share));
                let (shade, slot) = shade(worst);
                // Two columns for a cell make it about square.
                let repeat = if cells * 2 <= columns { 2 } else { 1 };
                drawn.push(slot, shade.repeat(repeat));
            }
            drawn
        })
        .collect()
}

/// The range of `total` things that cell `index` of `cells` stands for.
fn span(index: usize, cells: usize, total: usize) -> std::ops::Range<usize> {
    let from = index * total / cells;
    from..((index + 1) * total / cells).max(from + 1)
}

fn shade(share: f32) -> (&'static str, Slot) {
    if share <= 0.0 {
        ("░", Slot::Faint)
    } else if share < 0.1 {
        ("▒", Slot::Warning)
    } else if share < 0.9 {
        ("▓", Slot::Bad)
    } else {
        ("█", Slot::Bad)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_wrong_cell_survives_any_shrinking() {
        let mut map = vec![vec![0.0; 64]; 40];
        map[33][63] = 0.01;
        for size in [(1, 1), (10, 3), (64, 40), (200, 100)] {
            let rows = map_rows(&map, size);
            assert!(rows.len() <= size.1);
            assert!(rows.iter().any(|row| row.plain().contains('▒')), "{size:?}");
        }
    }

    #[test]
    fn ragged_and_empty_maps_are_drawn() {
        assert!(map_rows(&[], (10, 10)).is_empty());
        assert_eq!(map_rows(&[vec![], vec![1.0]], (10, 10)).len(), 2);
    }
}

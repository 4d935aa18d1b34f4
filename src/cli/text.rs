//! Reports as text for people: compact, in the order in which things happened, with what to do next.

use std::fmt::Write;
use std::io::IsTerminal;

use crate::measure::report::ShapeReport;
use crate::measure::report::{RooflineReport, TimingReport};
use crate::measure::{Event, RunReport, Stage, StageState};
use crate::verdict::{Class, Evidence, Location, OutputEvidence, Severity, Verdict};

/// Colours, where the reader can see them.
#[derive(Clone, Copy, Debug, Default)]
pub struct Style {
    pub colour: bool,
}

impl Style {
    /// For a stream: colours on a terminal, unless `NO_COLOR` is set.
    pub fn of(stream: &impl IsTerminal) -> Self {
        let refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        Self {
            colour: stream.is_terminal() && !refused,
        }
    }

    fn paint(self, code: u8, text: &str) -> String {
        if self.colour {
            format!("\x1b[{code}m{text}\x1b[0m")
        } else {
            text.to_owned()
        }
    }

    fn good(self, text: &str) -> String {
        self.paint(32, text)
    }

    fn bad(self, text: &str) -> String {
        self.paint(31, text)
    }

    fn muted(self, text: &str) -> String {
        self.paint(2, text)
    }

    /// A class's name, padded and coloured.
    pub fn class(self, class: Class) -> String {
        let name = format!("{class:<13}");
        if class == Class::Passed {
            self.good(&name)
        } else {
            self.bad(&name)
        }
    }
}

/// What to print for an event of a run; empty for those that say nothing new.
pub fn event(event: &Event, style: Style) -> String {
    match event {
        Event::Started {
            operator,
            device,
            shapes,
        } => format!(
            "{} on {}, {} shape{}\n",
            operator.as_deref().unwrap_or("?"),
            device.name,
            shapes.len(),
            if shapes.len() == 1 { "" } else { "s" }
        ),
        Event::Stage {
            shape: None,
            stage: stage @ Stage::Compile,
            state: StageState::Passed,
            detail,
        } => format!("{:<13} {detail}\n", stage.name()),
        Event::Log { text } => text.trim_end().lines().fold(String::new(), |mut lines, line| {
            let _ = writeln!(lines, "{}", style.muted(&format!("| {line}")));
            lines
        }),
        Event::ShapeFinished(report) => shape(report, style),
        _ => String::new(),
    }
}

/// One shape: a line, and below it what is wrong.
pub fn shape(report: &ShapeReport, style: Style) -> String {
    let mut text = format!("{:<12} {}", report.id, style.class(report.status));
    if report.status == Class::Passed {
        let _ = write!(
            text,
            " {}",
            report.timing.as_ref().map_or_else(|| report.reason.clone(), timing)
        );
        if let Some(place) = report.roofline.as_ref().map(roofline) {
            let _ = write!(text, "  {place}");
        }
    } else {
        let _ = write!(text, " {}", report.reason);
    }
    let _ = writeln!(text, "  {}", style.muted(&report.params.to_string()));
    if report.status != Class::Passed {
        for piece in &report.evidence {
            text.push_str(&indent(&evidence(piece, style)));
        }
    }
    if let Some(counters) = &report.counters {
        let instructions: u64 = counters.warp_instructions.values().sum();
        let _ = writeln!(
            text,
            "{:<12} {}",
            "",
            style.muted(&format!(
                "counted: {instructions} warp instructions, {} B read, {} B written, {} FLOP",
                counters.global_read_bytes,
                counters.global_write_bytes,
                counters.flops.values().sum::<u64>()
            ))
        );
    }
    text
}

fn timing(timing: &TimingReport) -> String {
    let [low, high] = timing.ci95_us;
    let half = (high - low) / 2.0;
    let cache = match timing.cache {
        crate::measure::report::CacheState::Cold => "cold",
        crate::measure::report::CacheState::Warm => "warm",
    };
    let kind = match timing.kind {
        crate::measure::report::TimingKind::Measured => "measured",
        crate::measure::report::TimingKind::Modelled => "modelled",
    };
    format!(
        "{:.2} us +- {half:.2} ({kind}, {cache}, {} samples)",
        timing.median_us, timing.samples
    )
}

fn roofline(roofline: &RooflineReport) -> String {
    match roofline.fraction {
        Some(fraction) => format!(
            "{:.1} % of the {} roof ({:.2} us)",
            fraction * 100.0,
            roofline.bound,
            roofline.t_sol_us
        ),
        None => format!("bound by {} ({:.2} FLOP/B)", roofline.bound, roofline.intensity),
    }
}

/// The end of a run: its verdict and what to try next.
pub fn ending(report: &RunReport, style: Style) -> String {
    // A single shape has just said it.
    let said = report
        .shapes
        .iter()
        .any(|shape| shape.status != Class::Passed && shape.reason == report.reason);
    let reason = if said { "" } else { report.reason.as_str() };
    let mut text = format!("{} {reason}", style.class(report.status)).trim_end().to_owned();
    text.push('\n');
    for piece in &report.evidence {
        text.push_str(&indent(&evidence(piece, style)));
    }
    text.push_str(&next(&report.next));
    text
}

/// A verdict by itself.
pub fn verdict(of: &Verdict, style: Style) -> String {
    let mut text = format!("{} {}\n", style.class(of.class), of.reason);
    for piece in &of.evidence {
        text.push_str(&indent(&evidence(piece, style)));
    }
    text.push_str(&next(&of.next));
    text
}

fn next(lines: &[String]) -> String {
    let mut text = String::new();
    for (index, line) in lines.iter().enumerate() {
        let label = if index == 0 { "next:" } else { "" };
        let _ = writeln!(text, "  {label:<6}{line}");
    }
    text
}

fn indent(text: &str) -> String {
    text.lines().fold(String::new(), |mut all, line| {
        let _ = writeln!(all, "    {line}");
        all
    })
}

fn place(at: Option<&Location>) -> String {
    at.map_or_else(String::new, |at| {
        let file = if at.file.is_empty() { "line " } else { at.file.as_str() };
        let separator = if at.file.is_empty() { "" } else { ":" };
        match at.column {
            Some(column) => format!("{file}{separator}{}:{column}", at.line),
            None => format!("{file}{separator}{}", at.line),
        }
    })
}

fn located(at: Option<&Location>) -> String {
    let place = place(at);
    if place.is_empty() { place } else { format!("{place}: ") }
}

/// One piece of evidence.
pub fn evidence(piece: &Evidence, style: Style) -> String {
    match piece {
        Evidence::Diagnostic { severity, message, at } => {
            let kind = match severity {
                Severity::Error => "error",
                Severity::Warning => "warning",
                Severity::Info => "note",
            };
            format!("{}{kind}: {message}", located(at.as_ref()))
        }
        Evidence::Missing { what, at } => format!("{}missing: {what}", located(at.as_ref())),
        Evidence::Access { .. } => access(piece),
        Evidence::Waiting {
            barrier,
            cta,
            waiting,
            missing,
            at,
        } => format!(
            "{}barrier {barrier} of CTA {cta:?}: waiting: {waiting}; missing: {missing}",
            located(at.as_ref())
        ),
        Evidence::Output(output) => output_evidence(output, style),
        Evidence::Note { text } => text.clone(),
    }
}

fn access(piece: &Evidence) -> String {
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
    } = piece
    else {
        return String::new();
    };
    let mut text = format!("{}{access} in {space} memory", located(at.as_ref()));
    if let Some(buffer) = buffer {
        let _ = write!(text, ", buffer `{buffer}`");
    }
    if let Some(offset) = offset {
        let _ = write!(text, ", byte offset {offset}");
    }
    if let Some(size) = size {
        let _ = write!(text, " of {size}");
    }
    if let Some(thread) = thread {
        let _ = write!(text, ", thread {thread:?}");
    }
    if let Some(cta) = cta {
        let _ = write!(text, " of CTA {cta:?}");
    }
    if let Some(line) = ptx_line {
        let _ = write!(text, ", PTX line {line}");
    }
    text
}

fn output_evidence(output: &OutputEvidence, style: Style) -> String {
    let mut text = format!(
        "`{}` {}{:?}, seed {}, {}: {} of {} elements wrong",
        output.output, output.dtype, output.dims, output.seed, output.distribution, output.mismatches, output.elements
    );
    if output.unwritten > 0 {
        let _ = write!(text, ", {} never written", output.unwritten);
    }
    if output.nan > 0 {
        let _ = write!(text, ", {} NaN", output.nan);
    }
    if output.inf > 0 {
        let _ = write!(text, ", {} infinite", output.inf);
    }
    let _ = write!(
        text,
        "\nlargest error {:.3e}, relative {:.3e}; relative L2 {:.3e}; {} ULP",
        output.max_abs, output.max_rel, output.rel_l2, output.max_ulp
    );
    for (name, element) in [("first", &output.first), ("worst", &output.worst)] {
        if let Some(element) = element {
            let _ = write!(
                text,
                "\n{name} at {:?}: expected {}, got {}",
                element.index, element.expected, element.got
            );
        }
    }
    if let Some(pattern) = &output.pattern {
        let _ = write!(text, "\npattern: {pattern}");
    }
    if !output.map.is_empty() {
        let _ = write!(text, "\n{}", map(&output.map, style));
    }
    text
}

/// Shares from none to all.
const SHADES: [char; 5] = ['·', '░', '▒', '▓', '█'];

/// The mismatch map: the output folded to a grid, darker where more of it is wrong.
fn map(rows: &[Vec<f32>], style: Style) -> String {
    let mut text = String::from("where it is wrong (· right, █ all wrong):");
    for row in rows {
        text.push('\n');
        let line: String = row.iter().map(|share| shade(*share)).collect();
        text.push_str(&if row.iter().any(|share| *share > 0.0) {
            style.bad(&line)
        } else {
            line
        });
    }
    text
}

/// Anything wrong at all is at least the lightest shade.
fn shade(share: f32) -> char {
    if share <= 0.0 {
        return SHADES[0];
    }
    let steps = (SHADES.len() - 1) as f32;
    SHADES[((share * steps).ceil() as usize).clamp(1, SHADES.len() - 1)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_mismatch_shows_in_the_map() {
        assert_eq!(shade(0.0), '·');
        assert_eq!(shade(0.001), '░');
        assert_eq!(shade(0.5), '▒');
        assert_eq!(shade(1.0), '█');
        let drawn = map(&[vec![0.0, 1.0]], Style::default());
        assert!(drawn.ends_with("\n·█"), "{drawn}");
    }

    #[test]
    fn places_read_like_a_compilers() {
        let at = Location {
            file: "a.cu".to_owned(),
            line: 3,
            column: Some(7),
        };
        let piece = Evidence::Diagnostic {
            severity: Severity::Error,
            message: "expected a `;`".to_owned(),
            at: Some(at),
        };
        assert_eq!(evidence(&piece, Style::default()), "a.cu:3:7: error: expected a `;`");
    }
}

//! One chart description, drawn on terminal cells, SVG and PNG.
//!
//! A [`Chart`] says what is to be seen: axes, lines, points, marks. It knows nothing of pixels or cells.

pub mod histogram;
pub mod history;
pub mod roofline;

pub use histogram::histogram;
pub use history::history;
pub use roofline::Roofline;

use serde::{Deserialize, Serialize};

/// How an axis maps values to places.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scale {
    Linear,
    Log10,
}

/// One axis.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Axis {
    /// With its unit: `FLOP/byte`.
    pub title: String,
    pub scale: Scale,
    pub min: f64,
    pub max: f64,
    /// Values to label; empty lets the surface choose.
    pub ticks: Vec<(f64, String)>,
}

/// What a colour means; themes give each a colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Tone {
    Accent,
    Good,
    Bad,
    Warning,
    Muted,
    Text,
    /// One of a series of distinguishable colours.
    Series(u8),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Dash {
    Solid,
    Dashed,
    /// Horizontal until the next point, then vertical.
    Step,
}

/// A mark's form; every status has a form of its own, so that nothing depends on colour alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mark {
    Dot,
    Diamond,
    HollowDiamond,
    Cross,
    Square,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Line {
    pub label: String,
    pub points: Vec<(f64, f64)>,
    pub tone: Tone,
    pub dash: Dash,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Point {
    pub x: f64,
    pub y: f64,
    pub mark: Mark,
    pub tone: Tone,
    pub label: Option<String>,
    /// Interval in y, drawn as a whisker.
    pub whisker: Option<(f64, f64)>,
}

/// A bar from zero, for histograms: its range on x and its height.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Bar {
    pub from: f64,
    pub to: f64,
    pub height: f64,
    pub tone: Tone,
}

/// A chart.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Chart {
    pub title: String,
    pub x: Axis,
    pub y: Axis,
    pub bars: Vec<Bar>,
    pub lines: Vec<Line>,
    pub points: Vec<Point>,
    /// Said under the chart: what is measured, where, when; or why it is empty.
    pub note: Option<String>,
}

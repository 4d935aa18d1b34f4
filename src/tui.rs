//! The terminal workbench: a closed list of events, a pure update, views of the state, and one runner for what touches the world.

mod app;
pub mod command;
pub mod editor;
pub mod effect;
pub mod escape;
pub mod event;
pub mod layout;
mod log;
pub mod model;
pub mod screens;
mod services;
mod terminal;
pub mod theme;
pub mod update;
pub mod widgets;

pub use app::{Options, run};
pub use effect::Effect;
pub use event::Event;
pub use model::Model;
pub use screens::draw;
pub use theme::Theme;
pub use update::update;

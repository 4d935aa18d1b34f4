//! The terminal workbench: a closed list of events, a pure update, views of the state, and one runner for what touches the world.

pub mod command;
pub mod editor;
pub mod effect;
pub mod escape;
pub mod event;
pub mod layout;
pub mod model;
pub mod screens;
pub mod theme;
pub mod update;
pub mod widgets;

pub use effect::Effect;
pub use event::Event;
pub use model::Model;
pub use screens::draw;
pub use theme::Theme;
pub use update::update;

//! The workbench without a terminal: named scenes as text, styles and pictures, and updates that never panic.

mod behaviour;
mod fixture;
mod picture;
mod properties;
mod recorded;
mod scenes;

//! Things that screens are made of. They draw what they are given and know no screen.

pub mod chart;
pub mod code;
pub mod overlay;
pub mod pane;
pub mod row;
pub mod strip;
pub mod text;
pub mod verdict;

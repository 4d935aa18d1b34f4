//! One chart description, drawn on terminal cells, SVG and PNG.

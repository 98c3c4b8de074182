//! What people and programs get to see: tables in the terminal, SVG, an HTML report, CSV and JSON.

pub mod charts;
pub mod files;
pub mod gantt;
pub mod html;
pub mod pictures;
pub mod progress;
pub mod svg;
pub mod terminal;

//! `ridgepoint list`: what there is, as a table for people or one JSON document for programs.

mod catalogue;
mod rows;

use std::path::Path;

use serde_json::{Map, Value, json};

use super::args::{ListArgs, ListKind};
use super::table::Table;
use super::{Exit, print};
use crate::problem::Catalogue;

/// The version of the JSON documents' layout.
const SCHEMA: u32 = 1;

/// One list, ready to be shown either way.
#[derive(Clone, Debug)]
struct Listing {
    /// The key of the rows in the document: `operators`.
    name: &'static str,
    rows: Vec<Value>,
    table: Table,
    /// Shown below the table.
    notes: Vec<String>,
}

impl Listing {
    fn document(self) -> Value {
        let mut document = Map::new();
        document.insert("schema".to_owned(), json!(SCHEMA));
        document.insert(self.name.to_owned(), Value::Array(self.rows));
        Value::Object(document)
    }

    fn text(&self) -> String {
        let mut text = self.table.render();
        for note in &self.notes {
            text.push_str("\n\n");
            text.push_str(note);
        }
        text
    }
}

/// Which part of the catalogue is asked for.
#[derive(Clone, Copy, Debug, Default)]
struct Filter<'a> {
    suite: Option<&'a str>,
    operator: Option<&'a str>,
}

/// Runs the command. Devices and themes are looked for only when they are listed.
pub fn run(args: &ListArgs, problems: Option<&Path>) -> Exit {
    let listing = match args.kind {
        ListKind::Devices => Ok(rows::devices()),
        ListKind::Themes => Ok(rows::themes()),
        kind => of_catalogue(kind, args, &Catalogue::load(problems)),
    };
    match listing {
        Ok(listing) if args.json => print::json(&listing.document()),
        Ok(listing) => print::line(listing.text()),
        Err(reason) => {
            print::note(format!("error: {reason}"));
            return Exit::Usage;
        }
    }
    Exit::Passed
}

fn of_catalogue(kind: ListKind, args: &ListArgs, problems: &Catalogue) -> Result<Listing, String> {
    let filter = Filter {
        suite: args.suite.as_deref(),
        operator: args.op.as_deref(),
    };
    match kind {
        ListKind::Shapes => catalogue::shapes(problems, filter),
        ListKind::Kernels => catalogue::kernels(problems, filter),
        ListKind::Suites => Ok(catalogue::suites(problems)),
        ListKind::Operators | ListKind::Devices | ListKind::Themes => catalogue::operators(problems, filter),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listing(kind: ListKind, suite: Option<&str>, op: Option<&str>) -> Result<Listing, String> {
        let args = ListArgs {
            kind,
            suite: suite.map(str::to_owned),
            op: op.map(str::to_owned),
            json: true,
        };
        of_catalogue(kind, &args, &Catalogue::builtin())
    }

    #[test]
    fn operators_have_the_promised_fields() {
        let document = listing(ListKind::Operators, Some("atrex"), None).unwrap().document();
        assert_eq!(document["schema"], 1);
        let rows = document["operators"].as_array().unwrap();
        assert_eq!(rows.len(), 30);
        let rms_norm = rows.iter().find(|row| row["name"] == "rms_norm").unwrap();
        assert_eq!(
            (&rms_norm["suite"], &rms_norm["shapes"], &rms_norm["dtype"]),
            (&json!("atrex"), &json!(56), &json!("bf16"))
        );
        assert_eq!(rms_norm["weight"], json!(0.025_127));
        let states = ["complete", "no reference yet"];
        assert!(rows.iter().all(|row| states.contains(&row["status"].as_str().unwrap())));
    }

    #[test]
    fn shapes_carry_their_cost_and_roof() {
        let listing = listing(ListKind::Shapes, None, Some("attention_forward")).unwrap();
        assert!(listing.text().contains("total_tokens") || listing.text().contains("seq_len=65556"));
        let document = listing.document();
        let rows = document["shapes"].as_array().unwrap();
        assert_eq!(rows.len(), 21 + 5);
        let largest = rows.iter().find(|row| row["id"] == "8").unwrap();
        assert_eq!(largest["params"]["seq_len"], 65_556);
        assert_eq!(
            (&largest["twin"], &largest["roof"]["bound"]),
            (&json!(false), &json!("bf16"))
        );
        assert!((largest["roof"]["t_sol_us"].as_f64().unwrap() / 20_000.0 - 1.0).abs() < 0.01);
        assert_eq!(largest["flops"]["bf16"], 4_i64 * 65_556 * 65_556 * 16 * 72);
    }

    #[test]
    fn suites_add_up() {
        let document = listing(ListKind::Suites, None, None).unwrap().document();
        let atrex = &document["suites"][0];
        assert_eq!(
            (&atrex["name"], &atrex["operators"], &atrex["shapes"]),
            (&json!("atrex"), &json!(30), &json!(440))
        );
    }

    #[test]
    fn unknown_names_are_refused_with_a_hint() {
        let error = listing(ListKind::Shapes, None, Some("rms_nrom")).unwrap_err();
        assert!(
            error.contains("did you mean") && error.contains("`rms_norm`"),
            "{error}"
        );
        let error = listing(ListKind::Operators, Some("artex"), None).unwrap_err();
        assert_eq!(error, "no suite `artex`; there are: atrex");
    }
}

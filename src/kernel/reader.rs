//! Reading typed values out of a header's TOML, where every mistake names its place and what was expected.

use std::ops::Range;
use std::path::Path;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::error::{ErrorKind, KernelError};
use super::place::{Place, Placed};
use crate::expr::Expr;
use crate::suggest;

/// The kernel file that a header's TOML is part of.
#[derive(Clone, Copy)]
pub(super) struct Source<'a> {
    pub path: &'a Path,
    /// The whole file.
    pub text: &'a str,
    /// Byte offset of the TOML in it.
    pub base: usize,
}

impl Source<'_> {
    pub(super) fn place(&self, offset: usize) -> Place {
        Place::of(self.text, self.base + offset)
    }

    pub(super) fn error(&self, offset: usize, message: impl Into<String>) -> KernelError {
        KernelError::new(ErrorKind::Header, self.path, message).at(self.place(offset))
    }

    /// Where the decoded text of a TOML string begins; behind the quotes, except where escapes blur it.
    fn string_place(&self, span: Range<usize>, decoded: &str) -> Place {
        let raw = self
            .text
            .get(self.base + span.start..self.base + span.end)
            .unwrap_or("");
        let quotes = if decoded.is_empty() {
            1
        } else {
            raw.find(decoded).unwrap_or(1)
        };
        self.place(span.start + quotes)
    }
}

/// One table of the header.
pub(super) struct Table<'a> {
    pub source: Source<'a>,
    values: &'a DeTable<'a>,
    /// As it is called in messages: `[[launch]]`.
    name: &'static str,
    /// Byte offset of the table's head in the TOML.
    pub offset: usize,
}

type Value<'a> = Spanned<DeValue<'a>>;

impl<'a> Table<'a> {
    /// A table in which only the `known` keys may occur.
    pub(super) fn new(
        source: Source<'a>,
        table: &'a DeTable<'a>,
        name: &'static str,
        offset: usize,
        known: &[&str],
    ) -> Result<Self, KernelError> {
        // The map is sorted by key; the first unknown key in the file is the one to report.
        let unknown = table
            .keys()
            .filter(|key| !known.contains(&key.get_ref().as_ref()))
            .min_by_key(|key| key.span().start);
        if let Some(key) = unknown {
            let hint = suggest::hint(key.get_ref(), known.iter().copied());
            let message = format!(
                "unknown key `{}` in {name}{hint} (known: {})",
                key.get_ref(),
                known.join(" ")
            );
            return Err(source.error(key.span().start, message));
        }
        Ok(Self {
            source,
            values: table,
            name,
            offset,
        })
    }

    fn get(&self, key: &str) -> Option<&'a Value<'a>> {
        self.values.get(key)
    }

    fn wrong(&self, key: &str, value: &Value<'_>, expected: &str) -> KernelError {
        let found = describe(value.get_ref());
        self.source.error(
            value.span().start,
            format!("`{key}` in {}: expected {expected}, found {found}", self.name),
        )
    }

    pub(super) fn missing(&self, key: &str, expected: &str) -> KernelError {
        self.source
            .error(self.offset, format!("{} lacks `{key}`: expected {expected}", self.name))
    }

    pub(super) fn string(&self, key: &str) -> Result<Option<Placed<String>>, KernelError> {
        self.get(key)
            .map(|value| self.string_value(key, value, "a string"))
            .transpose()
    }

    fn string_value(&self, key: &str, value: &Value<'_>, expected: &str) -> Result<Placed<String>, KernelError> {
        let text = value
            .get_ref()
            .as_str()
            .ok_or_else(|| self.wrong(key, value, expected))?;
        Ok(Placed::new(
            text.to_owned(),
            self.source.string_place(value.span(), text),
        ))
    }

    pub(super) fn name(&self, key: &str, expected: &str) -> Result<Placed<String>, KernelError> {
        let value = self.get(key).ok_or_else(|| self.missing(key, expected))?;
        let name = self.string_value(key, value, expected)?;
        if is_name(&name) {
            Ok(name)
        } else {
            let message = format!("`{key}` in {}: `{}` is not a name", self.name, *name);
            Err(self.source.error(value.span().start, message))
        }
    }

    pub(super) fn boolean(&self, key: &str) -> Result<bool, KernelError> {
        let Some(value) = self.get(key) else { return Ok(false) };
        value
            .get_ref()
            .as_bool()
            .ok_or_else(|| self.wrong(key, value, "true or false"))
    }

    pub(super) fn strings(&self, key: &str) -> Result<Option<Vec<Placed<String>>>, KernelError> {
        let Some(value) = self.get(key) else { return Ok(None) };
        let items = value
            .get_ref()
            .as_array()
            .ok_or_else(|| self.wrong(key, value, "an array of strings"))?;
        items
            .iter()
            .map(|item| self.string_value(key, item, "a string"))
            .collect::<Result<_, _>>()
            .map(Some)
    }

    pub(super) fn expr(&self, key: &str) -> Result<Option<Placed<Expr>>, KernelError> {
        self.get(key).map(|value| self.expr_value(key, value)).transpose()
    }

    /// `"token_count"`, `128`, or an array of them: at least one, at most `most`.
    pub(super) fn exprs(&self, key: &str, most: usize) -> Result<Option<Vec<Placed<Expr>>>, KernelError> {
        let Some(value) = self.get(key) else { return Ok(None) };
        let DeValue::Array(items) = value.get_ref() else {
            return Ok(Some(vec![self.expr_value(key, value)?]));
        };
        if items.is_empty() || items.len() > most {
            let message = format!(
                "`{key}` in {}: expected 1 to {most} expressions, found {}",
                self.name,
                items.len()
            );
            return Err(self.source.error(value.span().start, message));
        }
        items
            .iter()
            .map(|item| self.expr_value(key, item))
            .collect::<Result<_, _>>()
            .map(Some)
    }

    fn expr_value(&self, key: &str, value: &Value<'_>) -> Result<Placed<Expr>, KernelError> {
        match value.get_ref() {
            DeValue::Integer(integer) => {
                let number = i64::from_str_radix(integer.as_str(), integer.radix())
                    .map_err(|_| self.wrong(key, value, "an integer of 64 bits"))?;
                Ok(Placed::new(Expr::int(number), self.source.place(value.span().start)))
            }
            DeValue::String(text) => {
                let place = self.source.string_place(value.span(), text);
                self.parse_expr(&Placed::new(text.to_string(), place))
            }
            _ => Err(self.wrong(key, value, "an expression (a string or an integer)")),
        }
    }

    /// Parses the text of an expression; an error points into it.
    pub(super) fn parse_expr(&self, text: &Placed<String>) -> Result<Placed<Expr>, KernelError> {
        Expr::parse(text)
            .map(|expr| Placed::new(expr, text.place))
            .map_err(|error| {
                let message = format!("in the expression `{}`: {}", text.value, error.message);
                KernelError::new(ErrorKind::Header, self.source.path, message).at(text.place.inside(text, error.offset))
            })
    }

    /// An integer out of a list.
    pub(super) fn choice(&self, key: &str, choices: &[u32]) -> Result<u32, KernelError> {
        let Some(value) = self.get(key) else { return Ok(0) };
        let number = value
            .get_ref()
            .as_integer()
            .and_then(|integer| u32::from_str_radix(integer.as_str(), integer.radix()).ok());
        match number {
            Some(number) if choices.contains(&number) => Ok(number),
            _ => {
                let list: Vec<_> = choices.iter().map(u32::to_string).collect();
                Err(self.wrong(key, value, &format!("one of {}", list.join(", "))))
            }
        }
    }

    /// `[[key]]`: the tables of an array.
    pub(super) fn tables(&self, key: &str, name: &'static str, known: &[&str]) -> Result<Vec<Table<'a>>, KernelError> {
        let Some(value) = self.get(key) else {
            return Ok(Vec::new());
        };
        let expected = format!("an array of tables, written {name}");
        let items = value
            .get_ref()
            .as_array()
            .ok_or_else(|| self.wrong(key, value, &expected))?;
        items
            .iter()
            .map(|item| {
                let table = item
                    .get_ref()
                    .as_table()
                    .ok_or_else(|| self.wrong(key, item, &expected))?;
                Table::new(self.source, table, name, item.span().start, known)
            })
            .collect()
    }

    /// `[key]`: one table.
    pub(super) fn table(
        &self,
        key: &str,
        name: &'static str,
        known: &[&str],
    ) -> Result<Option<Table<'a>>, KernelError> {
        let Some(value) = self.get(key) else { return Ok(None) };
        let table = value
            .get_ref()
            .as_table()
            .ok_or_else(|| self.wrong(key, value, &format!("a table, written {name}")))?;
        Table::new(self.source, table, name, value.span().start, known).map(Some)
    }

    /// Every entry of `[key]`, whatever its keys, in the file's order.
    pub(super) fn entries(
        &self,
        key: &str,
        name: &'static str,
    ) -> Result<Vec<(Placed<String>, &'a Value<'a>)>, KernelError> {
        let Some(value) = self.get(key) else {
            return Ok(Vec::new());
        };
        let table = value
            .get_ref()
            .as_table()
            .ok_or_else(|| self.wrong(key, value, &format!("a table, written {name}")))?;
        let mut entries: Vec<_> = table.iter().collect();
        entries.sort_by_key(|(name, _)| name.span().start);
        Ok(entries
            .into_iter()
            .map(|(name, value)| {
                let place = self.source.place(name.span().start);
                (Placed::new(name.get_ref().to_string(), place), value)
            })
            .collect())
    }
}

/// Whether a text can be an identifier of CUDA C++ and of expressions.
pub(super) fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// A TOML value as messages call it.
pub(super) fn describe(value: &DeValue<'_>) -> String {
    match value {
        DeValue::String(text) => format!("the string `{text}`"),
        DeValue::Integer(number) => format!("the integer `{number}`"),
        DeValue::Float(number) => format!("the float `{number}`"),
        DeValue::Boolean(value) => format!("`{value}`"),
        DeValue::Datetime(_) => "a date".to_owned(),
        DeValue::Array(_) => "an array".to_owned(),
        DeValue::Table(_) => "a table".to_owned(),
    }
}

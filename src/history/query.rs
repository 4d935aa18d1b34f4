//! Reading the store: lists, the best of an operator, sources, reports.

use rusqlite::types::Type;
use rusqlite::{OptionalExtension, Row, params};

use super::{Filter, History, HistoryError, Iteration, ShapeResult};
use crate::measure::RunReport;
use crate::verdict::Class;

const COLUMNS: &str =
    "i.id, i.time_unix_s, i.operator, i.kernel_path, i.source_sha256, i.parent, i.author, i.note, i.device,
    i.device_kind, i.profile, i.compiler, i.defines, i.status, i.reason, i.shapes, i.passed";
/// Iterations listed where no limit is given.
const DEFAULT_LIMIT: u32 = 1_000_000;

impl History {
    /// Iterations, newest first.
    pub fn list(&self, filter: &Filter) -> Result<Vec<Iteration>, HistoryError> {
        let limit = filter.limit.unwrap_or(DEFAULT_LIMIT);
        let operator = filter.operator.as_deref();
        let with_operator = if operator.is_some() {
            "i.operator = ?1"
        } else {
            "?1 IS NULL"
        };
        if let Some(shape) = &filter.shape {
            let mut statement = self.connection.prepare_cached(&format!(
                "SELECT {COLUMNS}, s.shape, s.status, s.median_us, s.fraction, s.cold FROM shape_result s
                 JOIN iteration i ON i.id = s.iteration
                 WHERE {with_operator} AND s.shape = ?2 ORDER BY s.iteration DESC LIMIT ?3"
            ))?;
            let rows = statement.query_map(params![operator, shape, limit], |row| {
                let mut iteration = iteration(row)?;
                iteration.shape = Some(shape_result(row, 17)?);
                Ok(iteration)
            })?;
            return Ok(rows.collect::<Result<_, _>>()?);
        }
        let mut statement = self.connection.prepare_cached(&format!(
            "SELECT {COLUMNS} FROM iteration i WHERE {with_operator} ORDER BY i.id DESC LIMIT ?2"
        ))?;
        let rows = statement.query_map(params![operator, limit], iteration)?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// The fastest passed iteration of an operator's shape on machines of one profile.
    pub fn best(&self, operator: &str, shape: &str, profile: &str) -> Result<Option<Iteration>, HistoryError> {
        let sql = format!(
            "SELECT {COLUMNS}, s.shape, s.status, s.median_us, s.fraction, s.cold FROM iteration i
             JOIN shape_result s ON s.iteration = i.id AND s.shape = ?2
             WHERE i.operator = ?1 AND i.profile = ?3 AND s.status = 'passed' AND s.median_us IS NOT NULL
             ORDER BY s.median_us, i.id LIMIT 1"
        );
        let mut statement = self.connection.prepare_cached(&sql)?;
        let found = statement.query_row(params![operator, shape, profile], |row| {
            let mut iteration = iteration(row)?;
            iteration.shape = Some(shape_result(row, 17)?);
            Ok(iteration)
        });
        Ok(found.optional()?)
    }

    /// One iteration by id.
    pub fn get(&self, id: i64) -> Result<Option<Iteration>, HistoryError> {
        let sql = format!("SELECT {COLUMNS} FROM iteration i WHERE i.id = ?1");
        Ok(self
            .connection
            .prepare_cached(&sql)?
            .query_row([id], iteration)
            .optional()?)
    }

    /// The text that an iteration ran.
    pub fn source(&self, id: i64) -> Result<Option<String>, HistoryError> {
        let mut statement = self.connection.prepare_cached(
            "SELECT text FROM source JOIN iteration ON sha256 = source_sha256 WHERE iteration.id = ?1",
        )?;
        Ok(statement.query_row([id], |row| row.get(0)).optional()?)
    }

    /// The full report of an iteration.
    pub fn report(&self, id: i64) -> Result<Option<RunReport>, HistoryError> {
        let mut statement = self
            .connection
            .prepare_cached("SELECT json FROM report WHERE iteration = ?1")?;
        let json: Option<String> = statement.query_row([id], |row| row.get(0)).optional()?;
        Ok(json.map(|json| serde_json::from_str(&json)).transpose()?)
    }

    /// How many iterations are kept.
    pub fn count(&self) -> Result<u64, HistoryError> {
        let count: i64 = self
            .connection
            .query_row("SELECT count(*) FROM iteration", [], |row| row.get(0))?;
        Ok(count.unsigned_abs())
    }
}

fn iteration(row: &Row<'_>) -> rusqlite::Result<Iteration> {
    Ok(Iteration {
        id: row.get(0)?,
        time_unix_s: row.get(1)?,
        operator: row.get(2)?,
        kernel_path: row.get(3)?,
        source_sha256: row.get(4)?,
        parent: row.get(5)?,
        author: row.get(6)?,
        note: row.get(7)?,
        device: row.get(8)?,
        device_kind: row.get(9)?,
        profile: row.get(10)?,
        compiler: row.get(11)?,
        defines: json(row, 12)?,
        status: class(row, 13)?,
        reason: row.get(14)?,
        shapes: row.get(15)?,
        passed: row.get(16)?,
        shape: None,
    })
}

fn shape_result(row: &Row<'_>, from: usize) -> rusqlite::Result<ShapeResult> {
    Ok(ShapeResult {
        id: row.get(from)?,
        status: class(row, from + 1)?,
        median_us: row.get(from + 2)?,
        fraction: row.get(from + 3)?,
        cold: row.get(from + 4)?,
    })
}

fn class(row: &Row<'_>, column: usize) -> rusqlite::Result<Class> {
    let name: String = row.get(column)?;
    serde_json::from_value(serde_json::Value::String(name))
        .map_err(|error| rusqlite::Error::FromSqlConversionFailure(column, Type::Text, Box::new(error)))
}

fn json<T: serde::de::DeserializeOwned>(row: &Row<'_>, column: usize) -> rusqlite::Result<T> {
    let text: String = row.get(column)?;
    serde_json::from_str(&text)
        .map_err(|error| rusqlite::Error::FromSqlConversionFailure(column, Type::Text, Box::new(error)))
}

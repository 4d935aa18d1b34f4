//! Keeping a run: one transaction with the source, the report and a row per shape.

use rusqlite::{ErrorCode, OptionalExtension, TransactionBehavior, params};

use super::open::{BUSY_SECONDS, is_corrupt, replace};
use super::{History, HistoryError};
use crate::measure::RunReport;
use crate::measure::report::CacheState;
use crate::verdict::Class;

/// A run to keep.
#[derive(Clone, Copy, Debug)]
pub struct NewRun<'a> {
    pub report: &'a RunReport,
    /// What identifies the file between runs: its absolute path, or a built-in kernel's name.
    pub file: &'a str,
    /// The text that ran.
    pub source: &'a str,
    pub author: &'a str,
    pub note: &'a str,
}

/// What keeping a run gave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kept {
    pub id: i64,
    /// What the user should know, such as that a corrupted store was moved aside.
    pub message: Option<String>,
}

impl History {
    /// Keeps a run. Its parent is the previous iteration of the same file. A store that turns out to be corrupted is moved
    /// aside and a new one begun.
    ///
    /// # Errors
    /// Where the store is read-only, locked for long, or fails.
    pub fn record(&mut self, run: NewRun<'_>) -> Result<Kept, HistoryError> {
        if !self.writable {
            return Err(HistoryError::ReadOnly("it was opened read-only".to_owned()));
        }
        match self.insert(run) {
            Ok(id) => Ok(Kept { id, message: None }),
            Err(HistoryError::Sql(error)) if is_corrupt(&error) => self.record_anew(run, &error.to_string()),
            Err(HistoryError::Sql(error)) => Err(match error.sqlite_error_code() {
                Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => HistoryError::Busy(BUSY_SECONDS),
                Some(ErrorCode::ReadOnly | ErrorCode::DiskFull) => HistoryError::ReadOnly(error.to_string()),
                _ => HistoryError::Sql(error),
            }),
            Err(other) => Err(other),
        }
    }

    fn record_anew(&mut self, run: NewRun<'_>, reason: &str) -> Result<Kept, HistoryError> {
        let opened = replace(&self.path, reason);
        let message = opened.message;
        match opened.history {
            Some(fresh) => {
                *self = fresh;
                Ok(Kept {
                    id: self.insert(run)?,
                    message,
                })
            }
            None => Err(HistoryError::ReadOnly(message.unwrap_or_default())),
        }
    }

    fn insert(&mut self, run: NewRun<'_>) -> Result<i64, HistoryError> {
        let report = run.report;
        let json = serde_json::to_string(report)?;
        let defines = serde_json::to_string(&report.kernel.defines)?;
        let sha256 = &report.kernel.sha256;
        let transaction = self
            .connection
            .transaction_with_behavior(TransactionBehavior::Immediate)?;
        transaction.execute(
            "INSERT OR IGNORE INTO source (sha256, text) VALUES (?1, ?2)",
            params![sha256, run.source],
        )?;
        let parent: Option<i64> = transaction
            .query_row(
                "SELECT id FROM iteration WHERE kernel_path = ?1 ORDER BY id DESC LIMIT 1",
                [run.file],
                |row| row.get(0),
            )
            .optional()?;
        transaction.execute(
            "INSERT INTO iteration (time_unix_s, operator, kernel_path, source_sha256, parent, author, note, device,
                device_kind, profile, compiler, defines, status, reason, shapes, passed)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16)",
            params![
                report.started_unix_s,
                report.operator,
                run.file,
                sha256,
                parent,
                run.author,
                run.note,
                report.device.name,
                report.device.kind,
                report.device.profile,
                report
                    .kernel
                    .compile
                    .as_ref()
                    .map_or("", |compile| compile.compiler.as_str()),
                defines,
                report.status.name(),
                report.reason,
                report.shapes.len() as i64,
                report
                    .shapes
                    .iter()
                    .filter(|shape| shape.status == Class::Passed)
                    .count() as i64,
            ],
        )?;
        let id = transaction.last_insert_rowid();
        transaction.execute(
            "INSERT INTO report (iteration, json) VALUES (?1, ?2)",
            params![id, json],
        )?;
        for shape in &report.shapes {
            transaction.execute(
                "INSERT OR REPLACE INTO shape_result (iteration, shape, status, median_us, fraction, cold)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
                params![
                    id,
                    shape.id,
                    shape.status.name(),
                    shape.timing.as_ref().map(|timing| timing.median_us),
                    shape.roofline.as_ref().and_then(|roofline| roofline.fraction),
                    shape.timing.as_ref().map(|timing| timing.cache == CacheState::Cold),
                ],
            )?;
        }
        transaction.commit()?;
        Ok(id)
    }

    /// Replaces the note of an iteration.
    pub fn set_note(&mut self, id: i64, note: &str) -> Result<(), HistoryError> {
        self.connection
            .execute("UPDATE iteration SET note = ?2 WHERE id = ?1", params![id, note])?;
        Ok(())
    }
}

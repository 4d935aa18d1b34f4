//! The store's tables, as a list of migrations: step `n` leads from version `n` to `n + 1`. Steps are never edited, only added.

use rusqlite::Connection;

/// `PRAGMA application_id` of our files: "RPHI".
pub(super) const APPLICATION_ID: i64 = 0x5250_4849;

/// Every migration so far.
const MIGRATIONS: [&str; 2] = [
    "CREATE TABLE source (
        sha256 TEXT PRIMARY KEY,
        text TEXT NOT NULL
    ) WITHOUT ROWID;
    CREATE TABLE iteration (
        id INTEGER PRIMARY KEY,
        time_unix_s REAL NOT NULL,
        operator TEXT,
        kernel_path TEXT NOT NULL,
        source_sha256 TEXT NOT NULL,
        parent INTEGER REFERENCES iteration(id),
        author TEXT NOT NULL,
        note TEXT NOT NULL,
        device TEXT NOT NULL,
        device_kind TEXT NOT NULL,
        profile TEXT NOT NULL,
        compiler TEXT NOT NULL,
        defines TEXT NOT NULL,
        status TEXT NOT NULL,
        reason TEXT NOT NULL,
        shapes INTEGER NOT NULL,
        passed INTEGER NOT NULL
    );
    CREATE TABLE report (
        iteration INTEGER PRIMARY KEY REFERENCES iteration(id),
        json TEXT NOT NULL
    );
    CREATE TABLE shape_result (
        iteration INTEGER NOT NULL REFERENCES iteration(id),
        shape TEXT NOT NULL,
        status TEXT NOT NULL,
        median_us REAL,
        fraction REAL,
        cold INTEGER,
        PRIMARY KEY (iteration, shape)
    ) WITHOUT ROWID;",
    "CREATE INDEX iteration_by_operator ON iteration(operator, id);
    CREATE INDEX iteration_by_path ON iteration(kernel_path, id);
    CREATE INDEX shape_result_by_shape ON shape_result(shape, iteration);
    CREATE INDEX shape_result_by_time ON shape_result(shape, status, median_us);",
];

/// The version that this program writes.
pub(super) const VERSION: i64 = MIGRATIONS.len() as i64;

pub(super) fn version(connection: &Connection) -> rusqlite::Result<i64> {
    connection.pragma_query_value(None, "user_version", |row| row.get(0))
}

/// Brings an older file to the current version, each step in a transaction of its own.
pub(super) fn migrate(connection: &mut Connection) -> rusqlite::Result<()> {
    loop {
        // Another process may be migrating too: the version is read again inside the write lock.
        let transaction = connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
        let from = version(&transaction)?;
        let Some(step) = usize::try_from(from).ok().and_then(|index| MIGRATIONS.get(index)) else {
            return Ok(());
        };
        transaction.execute_batch(step)?;
        transaction.pragma_update(None, "user_version", from + 1)?;
        transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
        transaction.commit()?;
    }
}

//! Opening the store: new, older, newer, corrupted, read-only, locked; always an answer, never a loss.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rusqlite::{Connection, ErrorCode, OpenFlags};

use super::{History, Opened, schema};

/// How long a writer waits for another one.
pub(super) const BUSY_SECONDS: u64 = 10;

/// The files that belong to one database.
const SUFFIXES: [&str; 3] = ["", "-wal", "-shm"];

impl History {
    /// Opens or creates the store at `path`.
    pub fn open(path: &Path) -> Opened {
        match try_open(path) {
            Ok(history) => Opened {
                history: Some(history),
                message: None,
            },
            Err(Trouble::Newer(version)) => Opened {
                history: None,
                message: Some(newer(path, version)),
            },
            Err(Trouble::Foreign) => Opened {
                history: None,
                message: Some(format!(
                    "{} is a database of another program; this run is not kept. Move it away, or set RIDGEPOINT_DATA_DIR to another folder",
                    path.display()
                )),
            },
            Err(Trouble::Corrupt(reason)) => replace(path, &reason),
            Err(Trouble::Unwritable(reason)) => read_only(path, &reason),
            Err(Trouble::Other(reason)) => Opened {
                history: None,
                message: Some(format!("{}: {reason}; this run is not kept", path.display())),
            },
        }
    }
}

enum Trouble {
    Newer(i64),
    Foreign,
    Corrupt(String),
    Unwritable(String),
    Other(String),
}

impl From<rusqlite::Error> for Trouble {
    fn from(error: rusqlite::Error) -> Self {
        let reason = error.to_string();
        if is_corrupt(&error) {
            return Self::Corrupt(reason);
        }
        match error.sqlite_error_code() {
            Some(ErrorCode::ReadOnly | ErrorCode::CannotOpen | ErrorCode::PermissionDenied) => Self::Unwritable(reason),
            _ => Self::Other(reason),
        }
    }
}

/// Whether the file's content is the problem.
pub(super) fn is_corrupt(error: &rusqlite::Error) -> bool {
    matches!(
        error.sqlite_error_code(),
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase)
    )
}

fn try_open(path: &Path) -> Result<History, Trouble> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).map_err(|error| Trouble::Unwritable(error.to_string()))?;
    }
    let mut connection = Connection::open(path)?;
    connection.busy_timeout(Duration::from_secs(BUSY_SECONDS))?;
    look(&connection)?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    // In WAL mode this loses no committed run when the process dies, only perhaps when the machine does.
    connection.pragma_update(None, "synchronous", "NORMAL")?;
    connection.pragma_update(None, "foreign_keys", true)?;
    schema::migrate(&mut connection)?;
    Ok(History {
        connection,
        path: path.to_owned(),
        writable: true,
    })
}

/// Refuses what is not ours or not readable, before anything is changed.
fn look(connection: &Connection) -> Result<(), Trouble> {
    let version = schema::version(connection)?;
    let tables: i64 = connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    let application: i64 = connection.pragma_query_value(None, "application_id", |row| row.get(0))?;
    if tables > 0 && application != schema::APPLICATION_ID {
        return Err(Trouble::Foreign);
    }
    if version > schema::VERSION {
        return Err(Trouble::Newer(version));
    }
    Ok(())
}

fn newer(path: &Path, version: i64) -> String {
    format!(
        "the history {} was written by a newer Ridgepoint (schema {version}; this one knows {}): it is left untouched and this run is not kept. Update Ridgepoint, or set RIDGEPOINT_DATA_DIR to another folder",
        path.display(),
        schema::VERSION
    )
}

/// Moves a corrupted store aside and starts a new one.
pub(super) fn replace(path: &Path, reason: &str) -> Opened {
    let aside = match move_aside(path) {
        Ok(aside) => aside,
        Err(error) => {
            return Opened {
                history: None,
                message: Some(format!(
                    "the history {} is corrupted ({reason}) and cannot be moved aside ({error}): this run is not kept. Move the file yourself",
                    path.display()
                )),
            };
        }
    };
    let message = format!(
        "the history {} was corrupted ({reason}): it was moved to {} and a new one was begun. `sqlite3 {} .recover` may rescue its content",
        path.display(),
        aside.display(),
        aside.display()
    );
    match try_open(path) {
        Ok(history) => Opened {
            history: Some(history),
            message: Some(message),
        },
        Err(_) => Opened {
            history: None,
            message: Some(format!(
                "{message}; the new one cannot be written, so this run is not kept"
            )),
        },
    }
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

fn move_aside(path: &Path) -> std::io::Result<PathBuf> {
    let stamp = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| since.as_secs());
    let mut aside = with_suffix(path, &format!(".corrupt-{stamp}"));
    let mut attempt = 1;
    while aside.exists() {
        aside = with_suffix(path, &format!(".corrupt-{stamp}-{attempt}"));
        attempt += 1;
    }
    for suffix in SUFFIXES {
        let from = with_suffix(path, suffix);
        if from.exists() {
            std::fs::rename(&from, with_suffix(&aside, suffix))?;
        }
    }
    Ok(aside)
}

/// Opens for reading what cannot be written.
fn read_only(path: &Path, reason: &str) -> Opened {
    let message = format!(
        "the history {} cannot be written ({reason}): runs go on and are not kept. Make the folder writable, or set RIDGEPOINT_DATA_DIR to another one",
        path.display()
    );
    let history = path.exists().then(|| open_immutable(path).ok()).flatten();
    Opened {
        history,
        message: Some(message),
    }
}

fn open_immutable(path: &Path) -> Result<History, Trouble> {
    // A read-only folder has no place for the WAL's index; `immutable` reads without one.
    let escaped = path
        .display()
        .to_string()
        .replace('%', "%25")
        .replace('?', "%3f")
        .replace('#', "%23");
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(format!("file:{escaped}?immutable=1"), flags)?;
    look(&connection)?;
    if schema::version(&connection)? != schema::VERSION {
        return Err(Trouble::Other(
            "its schema is older, and it cannot be migrated".to_owned(),
        ));
    }
    Ok(History {
        connection,
        path: path.to_owned(),
        writable: false,
    })
}

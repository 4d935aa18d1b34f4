//! What was compiled before, by content. A cache that cannot be read or written costs time, never a result.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Once;
use std::sync::atomic::{AtomicU64, Ordering};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::diagnostics::Diagnostic;
use super::ptxas::Resources;

/// The layout of entries; another one is not read.
const MAGIC: &str = "ridgepoint-cache 1";

/// One compiler step's output. Steps use the fields they have.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Entry {
    pub compiler: String,
    pub log: String,
    pub diagnostics: Vec<Diagnostic>,
    pub resources: Vec<Resources>,
    /// PTX text or machine code.
    #[serde(skip)]
    pub code: Vec<u8>,
}

/// A cache larger than this is cut to half of it, the oldest entries first; entries of large kernels are about 1 MB.
const MAX_BYTES: u64 = 512 << 20;

/// A folder of entries.
#[derive(Debug)]
pub(super) struct Cache {
    folder: Option<PathBuf>,
    /// Its size is looked at once in a process: that is a walk over all entries.
    pruned: Once,
}

/// Collects what an output depends on.
pub(super) struct Key(Sha256);

impl Key {
    pub(super) fn new(step: &str) -> Self {
        Self(Sha256::new()).field(MAGIC).field(step)
    }

    /// Adds one part; parts cannot run into each other.
    pub(super) fn field(mut self, part: &str) -> Self {
        self.0.update((part.len() as u64).to_le_bytes());
        self.0.update(part.as_bytes());
        self
    }

    pub(super) fn finish(self) -> String {
        hex(&self.0.finalize())
    }
}

/// Lower-case hexadecimal digits.
pub(super) fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

impl Cache {
    pub(super) const fn new(folder: Option<PathBuf>) -> Self {
        Self {
            folder,
            pruned: Once::new(),
        }
    }

    fn path(&self, key: &str) -> Option<PathBuf> {
        Some(self.folder.as_ref()?.join(&key[..2]).join(key))
    }

    /// The entry, unless it is missing or damaged: both mean that it has to be made again.
    pub(super) fn get(&self, key: &str) -> Option<Entry> {
        decode(&std::fs::read(self.path(key)?).ok()?)
    }

    /// Keeps an entry.
    ///
    /// # Errors
    /// Says why it could not be kept, for the log.
    pub(super) fn put(&self, key: &str, entry: &Entry) -> Result<(), String> {
        let Some(path) = self.path(key) else { return Ok(()) };
        self.pruned.call_once(|| {
            if let Some(folder) = &self.folder {
                prune(folder, MAX_BYTES);
            }
        });
        write_atomically(&path, &encode(entry))
            .map_err(|error| format!("the compiled code is not kept: {}: {error}", path.display()))
    }
}

/// Cuts a folder of entries to half of `most` bytes where it has more. What cannot be removed stays.
fn prune(folder: &Path, most: u64) {
    let mut entries: Vec<_> = files(folder)
        .into_iter()
        .filter_map(|path| {
            let metadata = path.metadata().ok()?;
            Some((metadata.modified().ok()?, metadata.len(), path))
        })
        .collect();
    let mut total: u64 = entries.iter().map(|(_, bytes, _)| bytes).sum();
    if total <= most {
        return;
    }
    entries.sort();
    for (_, bytes, path) in entries {
        if total <= most / 2 {
            break;
        }
        if std::fs::remove_file(&path).is_ok() {
            total -= bytes;
        }
    }
}

/// All files one folder down.
fn files(folder: &Path) -> Vec<PathBuf> {
    let inside = |folder: &Path| -> Vec<PathBuf> {
        let entries = folder.read_dir().into_iter().flatten().flatten();
        entries.map(|entry| entry.path()).collect()
    };
    inside(folder).iter().flat_map(|folder| inside(folder)).collect()
}

/// Writes beside the target and renames: readers see the old file, the new one, or none, but never a part.
pub(super) fn write_atomically(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    static COUNTER: AtomicU64 = AtomicU64::new(0);
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    let number = COUNTER.fetch_add(1, Ordering::Relaxed);
    let temporary = path.with_extension(format!("{}-{number}.tmp", std::process::id()));
    let written = std::fs::File::create(&temporary)
        .and_then(|mut file| file.write_all(bytes))
        .and_then(|()| std::fs::rename(&temporary, path));
    if written.is_err() {
        // What matters is the first error; a leftover is only a few bytes.
        let _ = std::fs::remove_file(&temporary);
    }
    written
}

/// A line with the checksum of the rest, a line of JSON, the code.
fn encode(entry: &Entry) -> Vec<u8> {
    let mut payload = serde_json::to_vec(entry).unwrap_or_default();
    payload.push(b'\n');
    payload.extend_from_slice(&entry.code);
    let mut bytes = format!("{MAGIC} {}\n", hex(&Sha256::digest(&payload))).into_bytes();
    bytes.append(&mut payload);
    bytes
}

fn decode(bytes: &[u8]) -> Option<Entry> {
    let (head, payload) = split_line(bytes)?;
    let sum = std::str::from_utf8(head).ok()?.strip_prefix(MAGIC)?.trim();
    if sum != hex(&Sha256::digest(payload)) {
        return None;
    }
    let (json, code) = split_line(payload)?;
    let mut entry: Entry = serde_json::from_slice(json).ok()?;
    code.clone_into(&mut entry.code);
    Some(entry)
}

fn split_line(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = bytes.iter().position(|byte| *byte == b'\n')?;
    Some((&bytes[..end], &bytes[end + 1..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry() -> Entry {
        Entry {
            compiler: "nvrtc 13.0.88".to_owned(),
            log: "a\nb".to_owned(),
            code: vec![0, b'\n', 255, 7],
            ..Entry::default()
        }
    }

    #[test]
    fn entries_come_back_and_damaged_ones_do_not() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::new(Some(folder.path().to_owned()));
        let key = Key::new("test").field("a").finish();
        assert_eq!(cache.get(&key), None);
        cache.put(&key, &entry()).unwrap();
        assert_eq!(cache.get(&key), Some(entry()));

        let path = cache.path(&key).unwrap();
        let good = std::fs::read(&path).unwrap();
        for at in [0, 20, good.len() / 2, good.len() - 1] {
            let mut bad = good.clone();
            bad[at] ^= 1;
            std::fs::write(&path, &bad).unwrap();
            assert_eq!(cache.get(&key), None, "byte {at} flipped");
        }
        std::fs::write(&path, &good[..good.len() - 1]).unwrap();
        assert_eq!(cache.get(&key), None, "cut short");
        std::fs::write(&path, "").unwrap();
        assert_eq!(cache.get(&key), None, "empty");
        cache.put(&key, &entry()).unwrap();
        assert_eq!(cache.get(&key), Some(entry()), "written again");
        assert_eq!(
            path.parent().unwrap().read_dir().unwrap().count(),
            1,
            "no temporary files are left"
        );
    }

    #[test]
    fn a_folder_that_cannot_be_written_is_an_answer_not_a_crash() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        std::fs::write(&file, "").unwrap();
        // A file where the folder should be fails for every user, root included.
        let cache = Cache::new(Some(file));
        let key = Key::new("test").finish();
        assert!(
            cache
                .put(&key, &entry())
                .unwrap_err()
                .starts_with("the compiled code is not kept: ")
        );
        assert_eq!(cache.get(&key), None);
        assert_eq!(Cache::new(None).put(&key, &entry()), Ok(()));
    }

    #[test]
    fn a_large_cache_loses_its_oldest_entries() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::new(Some(folder.path().to_owned()));
        let keys: Vec<_> = (0..4)
            .map(|number| Key::new("t").field(&number.to_string()).finish())
            .collect();
        for (age, key) in keys.iter().enumerate() {
            cache.put(key, &entry()).unwrap();
            let file = std::fs::File::options()
                .write(true)
                .open(cache.path(key).unwrap())
                .unwrap();
            let time = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1000 + age as u64);
            file.set_modified(time).unwrap();
        }
        let one = std::fs::metadata(cache.path(&keys[0]).unwrap()).unwrap().len();
        prune(folder.path(), one * 4);
        assert!(keys.iter().all(|key| cache.get(key).is_some()), "it is not too large");
        prune(folder.path(), one * 3);
        let kept: Vec<_> = keys.iter().map(|key| cache.get(key).is_some()).collect();
        assert_eq!(kept, [false, false, false, true]);
    }

    #[test]
    fn parts_of_a_key_do_not_run_into_each_other() {
        let key = |parts: &[&str]| parts.iter().fold(Key::new("t"), |key, part| key.field(part)).finish();
        assert_ne!(key(&["ab", "c"]), key(&["a", "bc"]));
        assert_ne!(key(&["ab"]), key(&["ab", ""]));
        assert_eq!(key(&["ab"]), key(&["ab"]));
    }
}

//! From a path to a kernel file: reading with limits, recognising the language, reading the header.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;

use super::comment::{self, Found};
use super::error::{ErrorKind, KernelError};
use super::place::Place;
use super::{Header, KernelFile, Language, entries, header, offer, signature};
use crate::problem::Operator;

/// Larger files are refused unread: the largest kernel source in public suites is under 0.3 MB, and generated PTX of one
/// kernel stays under 2 MB.
pub const MAX_FILE_BYTES: u64 = 4 << 20;

/// What a Python kernel defines, by the format it follows.
const PYTHON_MARKS: [(&str, &str); 5] = [
    ("class ModelNew", "KernelBench"),
    ("class Model", "Atrex"),
    ("def kernel_function", "KernelBenchX"),
    ("def custom_kernel", "GPU MODE"),
    ("def run", "FlashInfer Trace"),
];

/// Loads a kernel file; `text` stands in for the file's content where an editor has a newer one.
///
/// # Errors
/// For a file that cannot be read or is not a text, and for a missing or wrong header; see [`ErrorKind`].
pub fn load(path: &Path, text: Option<&str>) -> Result<KernelFile, KernelError> {
    load_as(path, text, None)
}

/// As [`load`], for a kernel that is known to be of an operator: where the header is missing, the offered one is matched to
/// that operator's tensors and parameters.
///
/// # Errors
/// As `load`.
pub fn load_as(path: &Path, text: Option<&str>, operator: Option<&Operator>) -> Result<KernelFile, KernelError> {
    let language = language(path)?;
    let text = match text {
        Some(text) if text.len() as u64 > MAX_FILE_BYTES => return Err(too_large(path, text.len() as u64)),
        Some(text) => text.to_owned(),
        None => read(path)?,
    };
    if text.trim().is_empty() {
        return Err(KernelError::new(ErrorKind::File, path, "the file is empty")
            .advise("start from a built-in kernel: `ridgepoint list kernels`"));
    }
    if let Some(offset) = text.find('\0') {
        let message = "a NUL character, which no source file holds";
        return Err(KernelError::new(ErrorKind::File, path, message).at(Place::of(&text, offset)));
    }
    if language == Language::Python {
        return Err(python(path, &text));
    }
    let header = read_header(path, &text, language, operator)?;
    Ok(KernelFile {
        path: path.to_owned(),
        language,
        text: Arc::from(text),
        header,
    })
}

fn language(path: &Path) -> Result<Language, KernelError> {
    let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or("");
    match extension.to_ascii_lowercase().as_str() {
        "cu" => Ok(Language::Cuda),
        "ptx" => Ok(Language::Ptx),
        "py" => Ok(Language::Python),
        _ => Err(KernelError::new(
            ErrorKind::File,
            path,
            "not a kernel file by its name: expected .cu, .ptx or .py",
        )),
    }
}

fn read(path: &Path) -> Result<String, KernelError> {
    let cannot = |error: &io::Error| {
        let wrong = KernelError::new(ErrorKind::File, path, format!("cannot read the file: {error}"));
        if error.kind() == io::ErrorKind::NotFound {
            return wrong.advise("check the path; `ridgepoint list kernels` shows the built-in kernels");
        }
        wrong
    };
    let metadata = std::fs::metadata(path).map_err(|error| cannot(&error))?;
    if !metadata.is_file() {
        return Err(KernelError::new(ErrorKind::File, path, "not a regular file"));
    }
    if metadata.len() > MAX_FILE_BYTES {
        return Err(too_large(path, metadata.len()));
    }
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(|error| cannot(&error))?;
    // The file may grow between the look and the read.
    file.take(MAX_FILE_BYTES + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| cannot(&error))?;
    if bytes.len() as u64 > MAX_FILE_BYTES {
        return Err(too_large(path, bytes.len() as u64));
    }
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        let before = String::from_utf8_lossy(&error.as_bytes()[..at]);
        let byte = error.as_bytes()[at];
        KernelError::new(
            ErrorKind::File,
            path,
            format!("not UTF-8 text: byte {at} is {byte:#04x}"),
        )
        .at(Place::of(&before, before.len()))
        .advise("save the file as UTF-8; a compiled kernel (cubin, fatbin) cannot be loaded")
    })
}

fn too_large(path: &Path, bytes: u64) -> KernelError {
    KernelError::new(
        ErrorKind::File,
        path,
        format!("the file has {bytes} bytes; the limit is {MAX_FILE_BYTES}"),
    )
    .advise("a kernel file holds one kernel's source and its header; move tables of data into device buffers")
}

fn python(path: &Path, text: &str) -> KernelError {
    let format = text.lines().find_map(|line| {
        PYTHON_MARKS.iter().find(|(mark, _)| {
            line.strip_prefix(mark)
                .is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_'))
        })
    });
    let message = match format {
        Some((mark, format)) => {
            format!("a Python kernel (`{mark}`, as in {format}): Python kernels are not supported yet")
        }
        None => "Python kernels are not supported yet".to_owned(),
    };
    KernelError::new(ErrorKind::Unsupported, path, message)
        .advise("port the kernel to a .cu or .ptx file with a header; `ridgepoint list kernels` shows examples")
}

fn read_header(
    path: &Path,
    text: &str,
    language: Language,
    operator: Option<&Operator>,
) -> Result<Header, KernelError> {
    match comment::find(text) {
        Found::Toml(range) => {
            let header = header::parse(path, text, range.start, &text[range.clone()])?;
            signature::check(path, &header, text, range.end, &entries(text, language))?;
            Ok(header)
        }
        Found::Broken { offset, message } => {
            Err(KernelError::new(ErrorKind::Header, path, message).at(Place::of(text, offset)))
        }
        Found::Missing => Err(no_header(path, text, language, operator)),
    }
}

fn no_header(path: &Path, text: &str, language: Language, operator: Option<&Operator>) -> KernelError {
    let found = entries(text, language);
    let error = KernelError::new(
        ErrorKind::NoHeader,
        path,
        "the file has no header: expected a comment that opens with `/*---ridgepoint` and holds the launch plan",
    )
    .at(Place::default());
    if found.is_empty() {
        let what = if language == Language::Ptx {
            "`.entry`"
        } else {
            "`extern \"C\" __global__` function"
        };
        return error.advise(format!("the file also defines no {what}: is it a kernel?"));
    }
    let mut error = error.advise("put the offered header on top of the file and check its arguments and grid");
    error.offer = Some(offer::offer_header(operator, &found));
    error
}

//! NVRTC, loaded at run time: the only unsafe code of the compilers.
//!
//! cudarc looks the library up by name and panics when there is none, so a library found by path is opened first: the
//! dynamic linker then finds it by its soname. It stays open for the life of the process.

use std::ffi::{CString, c_char};
use std::path::{Path, PathBuf};

use cudarc::nvrtc::{result, sys};

/// What a compilation gave: PTX where it succeeded, and the compiler's log either way.
pub(super) struct Output {
    pub ptx: Result<String, String>,
    pub log: String,
}

/// A loaded NVRTC.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Nvrtc {
    /// Major and minor, as the library says.
    pub version: (i32, i32),
}

impl Nvrtc {
    /// Opens the library: the one at `path`, or the one that the system finds by name.
    pub(super) fn open(path: Option<&Path>) -> Result<Self, String> {
        if let Some(path) = path {
            // NVRTC opens its builtins by name while it compiles.
            for companion in builtins(path) {
                preload(&companion)?;
            }
            preload(path)?;
        }
        if !is_present() {
            return Err("the dynamic linker does not find libnvrtc".to_owned());
        }
        let (mut major, mut minor) = (0, 0);
        version(&mut major, &mut minor).map_err(|error| format!("libnvrtc does not say its version: {error}"))?;
        Ok(Self {
            version: (major, minor),
        })
    }

    /// Compiles CUDA C++. `name` is what the log calls the source.
    #[expect(clippy::unused_self, reason = "the value proves that the library is there")]
    pub(super) fn compile(&self, source: &str, name: &str, options: &[String]) -> Output {
        let failed = |message: String| Output {
            ptx: Err(message),
            log: String::new(),
        };
        if let Some(option) = options.iter().find(|option| option.contains('\0')) {
            return failed(format!(
                "the compiler option `{}` holds a NUL character",
                option.escape_debug()
            ));
        }
        let (Ok(source), Ok(name)) = (CString::new(source), CString::new(name)) else {
            return failed("the source holds a NUL character".to_owned());
        };
        let program = match Program::new(&source, &name) {
            Ok(program) => program,
            Err(error) => return failed(format!("NVRTC cannot take the source: {error}")),
        };
        program.compile(options)
    }
}

/// `libnvrtc-builtins.so.13.0` and the like, beside the library.
fn builtins(library: &Path) -> Vec<PathBuf> {
    let Some(entries) = library.parent().and_then(|folder| folder.read_dir().ok()) else {
        return Vec::new();
    };
    entries
        .flatten()
        .filter(|entry| entry.file_name().to_string_lossy().starts_with("libnvrtc-builtins.so"))
        .map(|entry| entry.path())
        .collect()
}

#[expect(unsafe_code, reason = "opening a library runs its initialisers")]
fn preload(path: &Path) -> Result<(), String> {
    // SAFETY: the initialisers of libnvrtc and its builtins have no requirements; the path was chosen because it is one of them.
    let library = unsafe { libloading::Library::new(path) }.map_err(|error| {
        // The loader's own words are the error's cause.
        let cause = std::error::Error::source(&error).map_or_else(|| error.to_string(), ToString::to_string);
        format!("{}: {cause}", path.display())
    })?;
    // cudarc must find it open whenever it looks, so it is never closed.
    std::mem::forget(library);
    Ok(())
}

#[expect(unsafe_code, reason = "cudarc asks the dynamic linker")]
fn is_present() -> bool {
    // SAFETY: opens and closes the library, nothing more; see `preload`.
    unsafe { sys::is_culib_present() }
}

#[expect(unsafe_code, reason = "a call of the C library")]
fn version(major: &mut i32, minor: &mut i32) -> Result<(), result::NvrtcError> {
    // SAFETY: both pointers are to live integers, and `is_present` said that the library is there.
    unsafe { sys::nvrtcVersion(major, minor) }.result()
}

/// A program, destroyed when dropped.
struct Program<'a> {
    raw: sys::nvrtcProgram,
    /// NVRTC may refer to the source and its name until the program is destroyed.
    _borrowed: std::marker::PhantomData<&'a CString>,
}

impl<'a> Program<'a> {
    fn new(source: &'a CString, name: &'a CString) -> Result<Self, result::NvrtcError> {
        Ok(Self {
            raw: result::create_program(source, Some(name))?,
            _borrowed: std::marker::PhantomData,
        })
    }

    #[expect(unsafe_code, reason = "calls of the C library")]
    fn compile(&self, options: &[String]) -> Output {
        // SAFETY: `raw` came from `create_program` and is destroyed only in `drop`; options hold no NUL (`compile` above).
        let compiled = unsafe { result::compile_program(self.raw, options) };
        // SAFETY: as before.
        let log = unsafe { result::get_program_log(self.raw) }.map_or_else(|_| String::new(), |log| text(&log));
        let ptx = compiled
            // SAFETY: as before, and the program is compiled.
            .and_then(|()| unsafe { result::get_ptx(self.raw) })
            .map(|ptx| text(&ptx))
            .map_err(|error| error.to_string());
        Output { ptx, log }
    }
}

impl Drop for Program<'_> {
    #[expect(unsafe_code, reason = "a call of the C library")]
    fn drop(&mut self) {
        // SAFETY: `raw` came from `create_program` and nobody uses it after this.
        // An error here would mean a program that is not one: nothing is left to be done.
        let _ = unsafe { result::destroy_program(self.raw) };
    }
}

/// A C string of the library, without its NUL.
fn text(chars: &[c_char]) -> String {
    let bytes: Vec<u8> = chars
        .iter()
        .map(|c| c.cast_unsigned())
        .take_while(|byte| *byte != 0)
        .collect();
    String::from_utf8_lossy(&bytes).into_owned()
}

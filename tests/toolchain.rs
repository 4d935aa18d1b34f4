//! The compilers: what works without any, and, where NVRTC is found, compiling for real.
//!
//! Tests that need NVRTC say so and pass without it; `ridgepoint toolchain install` brings it.

#![expect(clippy::print_stderr, reason = "a test that cannot run here says so")]

use std::path::{Path, PathBuf};

use ridgepoint::dirs::Dirs;
use ridgepoint::kernel;
use ridgepoint::toolchain::shipped::{self, Head};
use ridgepoint::toolchain::{CompileRequest, DEFAULT_ARCH, FailureKind, Severity, Toolchain, install_folder};

const SOURCE: &str = "extern \"C\" __global__ void scale(const float* x, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = x[i] * FACTOR;
}
";

/// The user's own compilers with a cache that nobody else uses, or `None` with the reason printed.
fn toolchain(test: &str, cache: &Path) -> Option<Toolchain> {
    let mut dirs = Dirs::under(cache);
    // An installation in the user's data folder counts, too.
    if let Some(user) = Dirs::find().filter(|user| install_folder(user).is_dir()) {
        dirs.data = user.data;
    }
    let toolchain = Toolchain::with_dirs(Some(dirs));
    let status = toolchain.status();
    if status.can_compile() {
        return Some(toolchain);
    }
    eprintln!("{test}: skipped: NVRTC was not found here (`ridgepoint toolchain install`)");
    None
}

fn request<'a>(source: &'a str, defines: &'a [(String, i64)]) -> CompileRequest<'a> {
    CompileRequest {
        name: "scale.cu",
        source,
        arch: DEFAULT_ARCH,
        defines,
        options: &[],
        device_arch: None,
    }
}

fn factor(value: i64) -> Vec<(String, i64)> {
    vec![("FACTOR".to_owned(), value)]
}

/// Every entry of the cache.
fn cached_files(root: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![root.join("cache")];
    while let Some(folder) = folders.pop() {
        let Ok(entries) = folder.read_dir() else { continue };
        for path in entries.flatten().map(|entry| entry.path()) {
            if path.is_dir() {
                folders.push(path);
            } else {
                found.push(path);
            }
        }
    }
    found
}

#[test]
fn shipped_ptx_is_made_from_its_source() {
    let (stale, count) = shipped::check(Path::new(env!("CARGO_MANIFEST_DIR"))).unwrap();
    assert!(
        stale.is_empty(),
        "run `ridgepoint check --ship-ptx .`:\n{}",
        stale.join("\n")
    );
    assert!(count >= 20, "only {count} sources were found");
}

#[test]
fn shipped_ptx_needs_no_compiler_but_must_match() {
    let folder = tempfile::tempdir().unwrap();
    // No data folder, no cache: what is used below is the text itself.
    let toolchain = Toolchain::with_dirs(Some(Dirs::under(folder.path())));
    let defines = factor(2);
    let request = request(SOURCE, &defines);
    let digest = shipped::digest(&request);
    let ptx = format!(
        "// ridgepoint-ptx 1 sha256={digest} compiler=\"nvrtc 13.0.88\" arch=compute_80 options=\"\"\n.version 8.0\n"
    );
    let compiled = toolchain.compile_shipped(&ptx, &request).unwrap();
    assert_eq!((&*compiled.ptx, compiled.cached), (ptx.as_str(), true));
    assert_eq!(compiled.compiler, "shipped PTX (nvrtc 13.0.88)");

    let other = factor(3);
    let changed = CompileRequest {
        defines: &other,
        ..request
    };
    match toolchain.compile_shipped(&ptx, &changed) {
        Ok(compiled) => assert!(
            compiled.compiler.starts_with("nvrtc"),
            "other tunables need the compiler"
        ),
        Err(failure) => assert_eq!(failure.kind, FailureKind::NoCompiler),
    }
}

#[test]
fn a_ptx_kernel_goes_as_it_is() {
    let text = "/*---ridgepoint\n[[launch]]\nkernel = \"k\"\ngrid = 1\nblock = 1\nargs = []\n---*/\n\
                .version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k() { ret; }\n";
    let file = kernel::load(Path::new("k.ptx"), Some(text)).unwrap();
    let compiled = Toolchain::with_dirs(None)
        .compile_kernel(&file, None, &[], None)
        .unwrap();
    assert_eq!(&*compiled.ptx, text);
    assert!(compiled.cubin.is_none() && compiled.resources.is_empty());
}

#[test]
fn a_kernel_compiles_and_the_second_time_comes_from_the_cache() {
    let folder = tempfile::tempdir().unwrap();
    let Some(toolchain) = toolchain("cache", folder.path()) else {
        return;
    };
    let defines = factor(2);
    let first = toolchain.compile(&request(SOURCE, &defines)).unwrap();
    assert!(!first.cached && first.notes.is_empty(), "{:?}", first.notes);
    assert!(first.compiler.starts_with("nvrtc "), "{}", first.compiler);
    assert!(first.ptx.contains(".visible .entry scale("));
    assert!(
        first.ptx.contains(".file\t1 \"scale.cu\""),
        "the line table names the file alone"
    );
    assert!(first.ptx.contains(".loc\t1 3 "), "line 3 is the editor's line 3");

    let second = toolchain.compile(&request(SOURCE, &defines)).unwrap();
    assert!(second.cached);
    assert_eq!(
        (&second.ptx, &second.compiler, &second.key),
        (&first.ptx, &first.compiler, &first.key)
    );

    let other = factor(3);
    let third = toolchain.compile(&request(SOURCE, &other)).unwrap();
    assert!(!third.cached && third.ptx != first.ptx && third.key != first.key);
}

#[test]
fn a_damaged_cache_entry_is_compiled_again() {
    let folder = tempfile::tempdir().unwrap();
    let Some(toolchain) = toolchain("damaged cache", folder.path()) else {
        return;
    };
    let defines = factor(2);
    let first = toolchain.compile(&request(SOURCE, &defines)).unwrap();
    let files = cached_files(folder.path());
    assert_eq!(files.len(), 1);
    let mut bytes = std::fs::read(&files[0]).unwrap();
    let last = bytes.len() - 10;
    bytes[last] ^= 0x20;
    std::fs::write(&files[0], &bytes).unwrap();

    let again = toolchain.compile(&request(SOURCE, &defines)).unwrap();
    assert!(!again.cached);
    assert_eq!(again.ptx, first.ptx);
    assert!(
        toolchain.compile(&request(SOURCE, &defines)).unwrap().cached,
        "and kept again"
    );
}

#[test]
fn a_cache_that_cannot_be_written_costs_nothing_but_a_note() {
    let folder = tempfile::tempdir().unwrap();
    // A file where the cache folder should be: fails for root, too.
    std::fs::write(folder.path().join("cache"), "").unwrap();
    let Some(toolchain) = toolchain("unwritable cache", folder.path()) else {
        return;
    };
    let defines = factor(2);
    let compiled = toolchain.compile(&request(SOURCE, &defines)).unwrap();
    assert!(
        compiled.notes[0].starts_with("the compiled code is not kept: "),
        "{:?}",
        compiled.notes
    );
    assert!(compiled.ptx.contains(".entry scale("));
}

#[test]
fn compile_errors_point_at_editor_lines_header_included() {
    let folder = tempfile::tempdir().unwrap();
    let Some(toolchain) = toolchain("diagnostics", folder.path()) else {
        return;
    };
    let text = "/*---ridgepoint\n[[launch]]\nkernel = \"k\"\ngrid = 1\nblock = 1\nargs = [\"out\"]\n---*/\n\
                extern \"C\" __global__ void k(float* out) {\n\tint unused = 1;\n\tout[0] = missing + 1;\n}\n";
    let file = kernel::load(Path::new("folder/k.cu"), Some(text)).unwrap();
    let failure = toolchain.compile_kernel(&file, None, &[], None).unwrap_err();
    assert_eq!(failure.kind, FailureKind::Rejected);
    assert_eq!(failure.message, "line 10: identifier \"missing\" is undefined");
    let error = failure
        .diagnostics
        .iter()
        .find(|d| d.severity == Severity::Error)
        .unwrap();
    assert_eq!((error.line, error.column, &error.file), (Some(10), Some(11), &None));
    assert_eq!(error.excerpt.as_deref(), Some("out[0] = missing + 1;"));
}

#[test]
fn strange_options_are_an_answer_not_a_crash() {
    let folder = tempfile::tempdir().unwrap();
    let Some(toolchain) = toolchain("options", folder.path()) else {
        return;
    };
    let defines = factor(1);
    for option in ["--no-such-option", "--gpu-architecture=compute_999", "-D", "a\0b", ""] {
        let options = vec![option.to_owned()];
        let request = CompileRequest {
            options: &options,
            ..request(SOURCE, &defines)
        };
        if let Err(failure) = toolchain.compile(&request) {
            assert_eq!(failure.kind, FailureKind::Rejected, "{option:?}: {failure}");
            assert!(!failure.message.is_empty());
        }
    }
}

#[test]
fn ptxas_gives_machine_code_and_figures() {
    let folder = tempfile::tempdir().unwrap();
    let Some(toolchain) = toolchain("ptxas", folder.path()) else {
        return;
    };
    if toolchain.found().ptxas.is_none() {
        eprintln!("ptxas: skipped: ptxas was not found here");
        return;
    }
    let defines = factor(2);
    let request = CompileRequest {
        device_arch: Some("sm_90"),
        ..request(SOURCE, &defines)
    };
    let compiled = toolchain.compile(&request).unwrap();
    assert_eq!(compiled.arch, "sm_90");
    assert!(compiled.cubin.as_deref().unwrap().starts_with(b"\x7fELF"));
    assert_eq!(
        (compiled.resources.len(), compiled.resources[0].kernel.as_str()),
        (1, "scale")
    );
    assert!(compiled.resources[0].registers > 0);
    let again = toolchain.compile(&request).unwrap();
    assert!(again.cached);
    assert_eq!((again.cubin, again.resources), (compiled.cubin, compiled.resources));

    // 64 KB of static shared memory: NVRTC takes it, ptxas does not, and it names the kernel.
    let greedy = "extern \"C\" __global__ void greedy(float* out) {\n    __shared__ volatile float s[16384];\n    s[threadIdx.x] = 1;\n    out[0] = s[0];\n}\n";
    let request = CompileRequest {
        source: greedy,
        ..request
    };
    let failure = toolchain.compile(&request).unwrap_err();
    assert_eq!(failure.kind, FailureKind::Rejected);
    assert!(
        failure.message.contains("greedy") && failure.message.contains("shared"),
        "{failure}"
    );

    // A target that the device is not: no machine code, but the PTX is there.
    let request = CompileRequest {
        source: SOURCE,
        arch: "compute_100",
        ..request
    };
    let compiled = toolchain.compile(&request).unwrap();
    assert!(compiled.cubin.is_none());
    assert_eq!(
        compiled.notes,
        ["no machine code: the code is for sm_100, the device is sm_90"]
    );
}

#[test]
fn shipping_writes_ptx_that_its_own_check_accepts() {
    let folder = tempfile::tempdir().unwrap();
    let Some(toolchain) = toolchain("ship", folder.path()) else {
        return;
    };
    let repo = folder.path().join("repo");
    let kernels = repo.join("problems/suite/op/kernels");
    std::fs::create_dir_all(&kernels).unwrap();
    let text = "/*---ridgepoint\n[tune]\nBLOCK = [64, 32]\n[[launch]]\nkernel = \"k\"\ngrid = 1\nblock = \"BLOCK\"\nargs = [\"out\"]\n---*/\n\
                extern \"C\" __global__ void k(int* out) { out[threadIdx.x] = BLOCK; }\n";
    std::fs::write(kernels.join("k.cu"), text).unwrap();
    assert_eq!(shipped::check(&repo).unwrap().0.len(), 1, "its PTX is missing");
    assert_eq!(shipped::ship(&repo, &toolchain, &mut |_, _| {}), Ok(1));
    assert_eq!(shipped::check(&repo), Ok((Vec::new(), 1)));

    let ptx = std::fs::read_to_string(kernels.join("k.ptx")).unwrap();
    assert_eq!(Head::of(&ptx).unwrap().arch, DEFAULT_ARCH);
    assert!(
        !ptx.contains(&*folder.path().to_string_lossy()),
        "no folder of this machine is in it"
    );
    let file = kernel::load(&kernels.join("k.cu"), None).unwrap();
    let without = Toolchain::with_dirs(None);
    let defaults = [("BLOCK".to_owned(), 64)];
    let compiled = without.compile_kernel(&file, Some(&ptx), &defaults, None).unwrap();
    assert!(compiled.compiler.starts_with("shipped PTX"));

    std::fs::write(kernels.join("k.cu"), text.replace("BLOCK; }", "BLOCK + 1; }")).unwrap();
    assert_eq!(shipped::check(&repo).unwrap().0.len(), 1, "its PTX is of another text");
}

fn ridgepoint(root: &Path, arguments: &[&str]) -> (Option<i32>, String, String) {
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_ridgepoint"))
        .args(arguments)
        .env("RIDGEPOINT_DATA_DIR", root)
        // Nothing of this machine's compilers: what is tested is how their absence is told.
        .env("PATH", root)
        .env_remove("CUDA_HOME")
        .env("RIDGEPOINT_NVRTC", root.join("libnvrtc.so.13"))
        .output()
        .expect("the program starts");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

#[test]
fn status_and_doctor_tell_of_a_broken_compiler_and_the_emulator_still_works() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("libnvrtc.so.13"), "not a library").unwrap();

    let (code, stdout, _) = ridgepoint(folder.path(), &["toolchain", "status", "--json"]);
    let status: serde_json::Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!(
        (code, &status["can_compile"]),
        (Some(3), &serde_json::Value::Bool(false))
    );
    assert!(
        status["tools"][0]["problem"]
            .as_str()
            .unwrap()
            .contains("libnvrtc.so.13")
    );

    let (code, stdout, stderr) = ridgepoint(folder.path(), &["doctor", "--json"]);
    let doctor: serde_json::Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!(
        (code, &doctor["works"]),
        (Some(0), &serde_json::Value::Bool(true)),
        "{stdout}{stderr}"
    );
    let checks = doctor["checks"].as_array().unwrap();
    for check in checks {
        let good = check["state"] == "ok";
        assert_eq!(good, check["advice"].is_null(), "every gap says what to do: {check}");
    }
    let state = |name: &str| {
        checks
            .iter()
            .find(|check| check["name"] == name)
            .map(|check| check["state"].clone())
    };
    assert_eq!(state("nvrtc").unwrap(), "gap");
    assert_eq!(state("python3").unwrap(), "gap");
}

#[test]
fn an_installation_that_cannot_begin_says_what_to_do_and_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let (code, stdout, stderr) = ridgepoint(folder.path(), &["toolchain", "install"]);
    assert_eq!((code, stdout.as_str()), (Some(3), ""));
    assert!(
        stderr.contains("python3 was not found") && stderr.contains("try: install Python 3"),
        "{stderr}"
    );
    let left: Vec<_> = folder.path().join("data").read_dir().unwrap().flatten().collect();
    assert!(left.is_empty(), "{left:?}");
}

//! Where compilers may be: the folders of toolkits, wheels and systems, in the order in which they are preferred.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde::Serialize;

use crate::dirs::Dirs;

/// The path of libnvrtc, or of the folder that it is in; goes before everything else.
pub const NVRTC_VARIABLE: &str = "RIDGEPOINT_NVRTC";

/// Variables that name a CUDA toolkit's folder.
const HOME_VARIABLES: [&str; 2] = ["CUDA_HOME", "CUDA_PATH"];
/// Variables that name a Python environment's folder.
const PYTHON_VARIABLES: [&str; 2] = ["VIRTUAL_ENV", "CONDA_PREFIX"];
/// Library names of the versions that cudarc finds, the preferred first.
const LIBRARY_NAMES: [&str; 4] = ["libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so", "nvrtc64_130_0.dll"];
/// A folder with one of these is a folder of CUDA's headers.
const HEADER_MARKS: [&str; 4] = ["cuda_bf16.h", "cuda_runtime.h", "crt", "cuda/std"];

/// Where something was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// Named by an environment variable.
    Variable,
    /// Put there by `ridgepoint toolchain install`.
    Installed,
    System,
    Python,
}

impl Origin {
    /// For listings.
    pub const fn describe(self) -> &'static str {
        match self {
            Self::Variable => "named by the environment",
            Self::Installed => "installed by ridgepoint",
            Self::System => "of the system",
            Self::Python => "of a Python environment",
        }
    }
}

/// A file that was found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Place {
    pub path: PathBuf,
    pub origin: Origin,
}

/// What was found, each on its own: a Python environment may have headers but no ptxas.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Found {
    /// `None` does not exclude that the dynamic linker knows one by name.
    pub nvrtc: Option<Place>,
    /// Folders of CUDA's headers, all of one root.
    pub includes: Vec<PathBuf>,
    pub ptxas: Option<Place>,
    pub nvdisasm: Option<Place>,
    pub cuobjdump: Option<Place>,
}

/// One installation: folders of libraries, headers and programs.
#[derive(Clone, Debug)]
struct Root {
    origin: Origin,
    libraries: Vec<PathBuf>,
    headers: Vec<PathBuf>,
    programs: Vec<PathBuf>,
}

/// The folder below the data folder that `toolchain install` fills.
pub fn install_folder(dirs: &Dirs) -> PathBuf {
    dirs.data.join("toolchain")
}

/// Looks wherever that takes no process.
pub(super) fn near(dirs: Option<&Dirs>) -> Found {
    Found::in_roots(&roots(dirs))
}

/// Looks everywhere: the `python3` on the path is asked for its folders, too.
pub(super) fn with_python(dirs: Option<&Dirs>) -> Found {
    let mut roots = roots(dirs);
    roots.extend(python_sites().iter().map(|site| wheels(Origin::Python, site)));
    Found::in_roots(&roots)
}

impl Found {
    fn in_roots(roots: &[Root]) -> Self {
        Self {
            nvrtc: nvrtc(roots),
            includes: includes(roots),
            ptxas: program(roots, "ptxas"),
            nvdisasm: program(roots, "nvdisasm"),
            cuobjdump: program(roots, "cuobjdump"),
        }
    }
}

/// All roots that cost no process to find. What the user installed on purpose with this program goes before what happens
/// to lie on the system, whose version nobody pinned.
fn roots(dirs: Option<&Dirs>) -> Vec<Root> {
    let variable = |name: &str| {
        std::env::var_os(name)
            .filter(|value| !value.is_empty())
            .map(PathBuf::from)
    };
    let mut roots = Vec::new();
    roots.extend(variable(NVRTC_VARIABLE).map(|path| beside(&path)));
    roots.extend(
        HOME_VARIABLES
            .iter()
            .filter_map(|name| variable(name))
            .map(|home| toolkit(Origin::Variable, &home)),
    );
    roots.extend(dirs.map(|dirs| wheels(Origin::Installed, &install_folder(dirs))));
    if let Some(paths) = std::env::var_os("LD_LIBRARY_PATH") {
        roots.push(Root {
            origin: Origin::System,
            libraries: std::env::split_paths(&paths).collect(),
            headers: Vec::new(),
            programs: Vec::new(),
        });
    }
    roots.extend(system());
    for environment in PYTHON_VARIABLES.iter().filter_map(|name| variable(name)) {
        for version in children(&environment.join("lib"), "python3") {
            roots.push(wheels(Origin::Python, &version.join("site-packages")));
        }
    }
    roots
}

/// The installation that a library, or the folder it is in, belongs to.
fn beside(path: &Path) -> Root {
    let folder = if path.is_dir() {
        path
    } else {
        path.parent().unwrap_or(path)
    };
    let mut root = toolkit(Origin::Variable, folder.parent().unwrap_or(folder));
    let named = if path.is_dir() { folder } else { path };
    root.libraries.insert(0, named.to_owned());
    root
}

fn toolkit(origin: Origin, home: &Path) -> Root {
    let mut libraries = vec![home.join("lib64"), home.join("lib")];
    let mut headers = vec![home.join("include"), home.join("include/cccl")];
    for target in children(&home.join("targets"), "") {
        libraries.push(target.join("lib"));
        headers.push(target.join("include"));
    }
    Root {
        origin,
        libraries,
        headers,
        programs: vec![home.join("bin")],
    }
}

/// The wheels in a `site-packages`: `nvidia/cu13/lib` since CUDA 13, `nvidia/cuda_nvrtc/lib` before.
fn wheels(origin: Origin, site: &Path) -> Root {
    let mut all = Root {
        origin,
        libraries: Vec::new(),
        headers: Vec::new(),
        programs: Vec::new(),
    };
    for package in children(&site.join("nvidia"), "") {
        let root = toolkit(origin, &package);
        all.libraries.extend(root.libraries);
        all.headers.extend(root.headers);
        all.programs.extend(root.programs);
    }
    all
}

fn system() -> Vec<Root> {
    let mut roots = vec![toolkit(Origin::System, Path::new("/usr/local/cuda"))];
    let mut versions = children(Path::new("/usr/local"), "cuda-");
    versions.reverse();
    roots.extend(versions.iter().map(|home| toolkit(Origin::System, home)));
    roots.push(toolkit(Origin::System, Path::new("/opt/cuda")));
    let mut distribution = toolkit(Origin::System, Path::new("/usr"));
    distribution.libraries.push(PathBuf::from("/usr/lib/x86_64-linux-gnu"));
    distribution.libraries.push(PathBuf::from("/usr/lib/aarch64-linux-gnu"));
    if let Some(paths) = std::env::var_os("PATH") {
        distribution.programs.extend(std::env::split_paths(&paths));
    }
    roots.push(distribution);
    roots
}

/// Folders in a folder whose names start so, sorted.
fn children(folder: &Path, prefix: &str) -> Vec<PathBuf> {
    let Ok(entries) = folder.read_dir() else {
        return Vec::new();
    };
    let mut found: Vec<_> = entries
        .flatten()
        .filter(|entry| entry.file_name().to_string_lossy().starts_with(prefix))
        .map(|entry| entry.path())
        .filter(|path| path.is_dir())
        .collect();
    found.sort();
    found
}

/// Where the `python3` on the path keeps its packages.
fn python_sites() -> Vec<PathBuf> {
    let code = "import site, sysconfig\nfor p in [sysconfig.get_path('purelib'), site.getusersitepackages()]: print(p)";
    let output = Command::new("python3")
        .args(["-I", "-c", code])
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output();
    match output {
        Ok(output) if output.status.success() => String::from_utf8_lossy(&output.stdout)
            .lines()
            .map(PathBuf::from)
            .collect(),
        _ => Vec::new(),
    }
}

fn nvrtc(roots: &[Root]) -> Option<Place> {
    roots.iter().find_map(|root| {
        let in_folder = |folder: &PathBuf| {
            if folder.is_file() {
                return Some(folder.clone());
            }
            LIBRARY_NAMES
                .iter()
                .map(|name| folder.join(name))
                .find(|path| path.is_file())
        };
        root.libraries.iter().find_map(in_folder).map(|path| Place {
            path,
            origin: root.origin,
        })
    })
}

/// The header folders of the installation that NVRTC is of, or of the first that has any.
fn includes(roots: &[Root]) -> Vec<PathBuf> {
    let of = |root: &Root| -> Vec<PathBuf> {
        let is_cuda = |folder: &&PathBuf| HEADER_MARKS.iter().any(|mark| folder.join(mark).exists());
        root.headers.iter().filter(is_cuda).cloned().collect()
    };
    let own = roots.iter().find(|root| nvrtc(std::slice::from_ref(root)).is_some());
    own.into_iter()
        .chain(roots)
        .map(of)
        .find(|folders| !folders.is_empty())
        .unwrap_or_default()
}

fn program(roots: &[Root], name: &str) -> Option<Place> {
    roots.iter().find_map(|root| {
        root.programs
            .iter()
            .map(|folder| folder.join(name))
            .find(|path| path.is_file())
            .map(|path| Place {
                path,
                origin: root.origin,
            })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn touch(path: &Path) {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, "").unwrap();
    }

    #[test]
    fn wheels_of_both_layouts_are_found() {
        let site = tempfile::tempdir().unwrap();
        touch(&site.path().join("nvidia/cu13/lib/libnvrtc.so.13"));
        touch(&site.path().join("nvidia/cu13/include/cuda_bf16.h"));
        touch(&site.path().join("nvidia/cu13/include/cccl/cuda/std/version"));
        touch(&site.path().join("nvidia/cu13/bin/ptxas"));
        let roots = [wheels(Origin::Python, site.path())];
        assert!(nvrtc(&roots).unwrap().path.ends_with("nvidia/cu13/lib/libnvrtc.so.13"));
        assert_eq!(includes(&roots).len(), 2);
        assert!(program(&roots, "ptxas").is_some() && program(&roots, "nvdisasm").is_none());

        let old = tempfile::tempdir().unwrap();
        touch(&old.path().join("nvidia/cuda_nvrtc/lib/libnvrtc.so.12"));
        touch(&old.path().join("nvidia/cuda_nvrtc/lib/libnvrtc-builtins.so.12.8"));
        touch(&old.path().join("nvidia/cuda_runtime/include/cuda_runtime.h"));
        touch(&old.path().join("nvidia/cublas/include/cublas.h"));
        let roots = [wheels(Origin::Python, old.path())];
        assert!(nvrtc(&roots).unwrap().path.ends_with("libnvrtc.so.12"));
        assert_eq!(includes(&roots), [old.path().join("nvidia/cuda_runtime/include")]);
    }

    #[test]
    fn headers_come_from_the_compilers_own_installation_first() {
        let first = tempfile::tempdir().unwrap();
        let second = tempfile::tempdir().unwrap();
        touch(&first.path().join("include/cuda_bf16.h"));
        touch(&second.path().join("lib64/libnvrtc.so.13"));
        touch(&second.path().join("include/cuda_bf16.h"));
        let roots = [
            toolkit(Origin::Variable, first.path()),
            toolkit(Origin::System, second.path()),
        ];
        assert_eq!(includes(&roots), [second.path().join("include")]);
    }

    #[test]
    fn a_library_can_be_named_directly() {
        let home = tempfile::tempdir().unwrap();
        let library = home.path().join("lib/libnvrtc.so.13");
        touch(&library);
        assert_eq!(nvrtc(&[beside(&library)]).unwrap().path, library);
        assert_eq!(nvrtc(&[beside(library.parent().unwrap())]).unwrap().path, library);
    }
}

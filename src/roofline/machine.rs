//! Machine profiles: what the datasheets promise and, where someone measured, what the machine gives. Embedded TOML.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use include_dir::{Dir, include_dir};
use serde::{Deserialize, Serialize};

use crate::problem::Path;
use crate::suggest;

static FILES: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/assets/machines");

/// One machine. Peaks are dense, in FLOP/s; what is not known of a machine is absent.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MachineProfile {
    /// What `--device emulator:NAME` takes: `h200`.
    pub name: String,
    pub title: String,
    /// Where the figures come from.
    pub sources: Vec<String>,
    pub compute_capability: Option<(u32, u32)>,
    pub sm_count: Option<u32>,
    pub memory_bytes: Option<u64>,
    /// Bytes per second of device memory.
    pub bandwidth: f64,
    pub l2_bytes: Option<u64>,
    /// Shared memory that one block may have when it asks for the most, bytes.
    pub shared_per_block: Option<u32>,
    pub shared_per_sm: Option<u32>,
    pub boost_mhz: Option<u32>,
    pub peaks: BTreeMap<Path, f64>,
    pub measured: Option<Measured>,
}

/// Ceilings that were measured on the machine.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Measured {
    pub date: String,
    pub machine: String,
    pub method: String,
    /// The shortest time that the method shows for any kernel, microseconds.
    pub smallest_kernel_us: Option<f64>,
    /// Copied buffer in bytes, and bytes read plus written per second; by size.
    pub copy: Vec<(u64, f64)>,
    /// Edge of a square product and its FLOP/s; by edge.
    pub gemm: BTreeMap<Path, Vec<(u64, f64)>>,
}

/// Threads that a block may have on every machine since compute capability 2.0 (CUDA C++ Programming Guide, "Compute Capabilities").
const MAX_THREADS_PER_BLOCK: i64 = 1024;
const WARP_SIZE: i64 = 32;
const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;

impl MachineProfile {
    /// The peak that bounds a path, FLOP/s, and the path that has it: its own, or the next wider one that holds its values.
    pub fn peak(&self, path: Path) -> Option<(Path, f64)> {
        let instead: &[Path] = match path {
            Path::Fp8 => &[Path::Fp8, Path::Fp16, Path::Bf16, Path::Fp32],
            Path::Bf16 => &[Path::Bf16, Path::Tf32, Path::Fp32],
            Path::Fp16 => &[Path::Fp16, Path::Tf32, Path::Fp32],
            Path::Tf32 => &[Path::Tf32, Path::Fp32],
            Path::Fp32 => &[Path::Fp32],
            Path::Fp64 => &[Path::Fp64],
            Path::Int8 => &[Path::Int8],
        };
        instead
            .iter()
            .find_map(|candidate| Some((*candidate, *self.peaks.get(candidate)?)))
    }

    /// The bandwidth that a copy of so many bytes reached here, bytes per second: between the nearest measured sizes, by the logarithm of the size.
    pub fn copy_bandwidth(&self, bytes: u64) -> Option<f64> {
        let copy = &self.measured.as_ref()?.copy;
        let (first, last) = (copy.first()?, copy.last()?);
        if bytes <= first.0 {
            return Some(first.1);
        }
        let above = copy.iter().position(|(size, _)| *size >= bytes);
        let Some(above) = above else { return Some(last.1) };
        let ((low, slow), (high, fast)) = (copy[above - 1], copy[above]);
        let share = (bytes as f64 / low as f64).ln() / (high as f64 / low as f64).ln();
        Some(slow + (fast - slow) * share)
    }

    /// What kernel headers may name, as far as it is known: `sm_count`, `max_shared_per_block` and so on.
    pub fn properties(&self) -> Vec<(String, i64)> {
        let mut all = vec![
            ("max_threads_per_block".to_owned(), MAX_THREADS_PER_BLOCK),
            ("warp_size".to_owned(), WARP_SIZE),
        ];
        let mut add = |name: &str, value: Option<i64>| all.extend(value.map(|value| (name.to_owned(), value)));
        add("sm_count", self.sm_count.map(i64::from));
        add("max_shared_per_block", self.shared_per_block.map(i64::from));
        add("l2_bytes", self.l2_bytes.and_then(|bytes| i64::try_from(bytes).ok()));
        add("cc_major", self.compute_capability.map(|(major, _)| i64::from(major)));
        add("cc_minor", self.compute_capability.map(|(_, minor)| i64::from(minor)));
        all
    }
}

/// The profile of machines that nothing better is known of.
pub const DEFAULT: &str = "h200";

/// Every profile, by name.
pub fn profiles() -> &'static [MachineProfile] {
    static ALL: LazyLock<Vec<MachineProfile>> = LazyLock::new(|| {
        let mut all: Vec<_> = FILES.files().filter_map(|file| read_file(file).ok()).collect();
        all.sort_by(|a, b| a.name.cmp(&b.name));
        all
    });
    &ALL
}

/// A profile by name, or by the model alone where only one variant of it is known: `h100` is `h100-sxm`.
///
/// # Errors
/// With the nearest names, and all there are.
pub fn profile(name: &str) -> Result<&'static MachineProfile, String> {
    let exact = profiles().iter().find(|profile| profile.name == name);
    let variant = |profile: &&MachineProfile| profile.name.split_once('-').is_some_and(|(model, _)| model == name);
    exact.or_else(|| profiles().iter().find(variant)).ok_or_else(|| {
        let names: Vec<&str> = profiles().iter().map(|profile| profile.name.as_str()).collect();
        let hint = suggest::hint(name, names.iter().copied());
        format!("no machine profile `{name}`{hint}; there are: {}", names.join(" "))
    })
}

/// The profile for a device by the name that its driver reports (`NVIDIA H100 80GB HBM3`), if there is one.
///
/// Variants that differ in peaks or bandwidth from the profile of the same model have none.
pub fn profile_of_device(reported: &str) -> Option<&'static MachineProfile> {
    const MODELS: [(&str, &str); 7] = [
        ("H200", "h200"),
        ("H100", "h100-sxm"),
        ("H20", "h20"),
        ("B200", "b200"),
        ("A100", "a100"),
        ("4090", "rtx-4090"),
        ("L20", "l20"),
    ];
    const OTHER_VARIANTS: [&str; 6] = ["PCIE", "NVL", "LAPTOP", "D", "40GB", "MIG"];
    let reported = reported.to_uppercase();
    let words: Vec<&str> = reported.split([' ', '-', '_']).collect();
    if OTHER_VARIANTS.iter().any(|variant| words.contains(variant)) {
        return None;
    }
    let (_, name) = MODELS.into_iter().find(|(model, _)| words.contains(model))?;
    profile(name).ok()
}

/// The TOML of a profile: units as people write them.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawProfile {
    title: String,
    sources: Vec<String>,
    compute_capability: Option<(u32, u32)>,
    sm_count: Option<u32>,
    memory_gib: Option<u64>,
    bandwidth_gb_s: f64,
    l2_mib: Option<u64>,
    shared_per_block: Option<u32>,
    shared_per_sm: Option<u32>,
    boost_mhz: Option<u32>,
    peaks: BTreeMap<Path, f64>,
    measured: Option<RawMeasured>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawMeasured {
    date: String,
    machine: String,
    method: String,
    smallest_kernel_us: Option<f64>,
    #[serde(default)]
    copy_tb_s: BTreeMap<String, f64>,
    #[serde(default)]
    gemm_tflops: BTreeMap<Path, BTreeMap<String, f64>>,
}

fn read_file(file: &include_dir::File<'_>) -> Result<MachineProfile, String> {
    let name = file
        .path()
        .file_stem()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    let text = file.contents_utf8().ok_or("the file is not UTF-8 text")?;
    let raw: RawProfile = toml::from_str(text).map_err(|error| error.to_string())?;
    let measured = raw.measured.map(read_measured).transpose()?;
    Ok(MachineProfile {
        name,
        title: raw.title,
        sources: raw.sources,
        compute_capability: raw.compute_capability,
        sm_count: raw.sm_count,
        memory_bytes: raw.memory_gib.map(|gib| gib * GIB),
        bandwidth: raw.bandwidth_gb_s * 1e9,
        l2_bytes: raw.l2_mib.map(|mib| mib * MIB),
        shared_per_block: raw.shared_per_block,
        shared_per_sm: raw.shared_per_sm,
        boost_mhz: raw.boost_mhz,
        peaks: raw
            .peaks
            .into_iter()
            .map(|(path, tflops)| (path, tflops * 1e12))
            .collect(),
        measured,
    })
}

fn read_measured(raw: RawMeasured) -> Result<Measured, String> {
    let mut gemm = BTreeMap::new();
    for (path, rows) in raw.gemm_tflops {
        gemm.insert(path, by_size(rows, 1)?);
    }
    Ok(Measured {
        date: raw.date,
        machine: raw.machine,
        method: raw.method,
        smallest_kernel_us: raw.smallest_kernel_us,
        copy: by_size(raw.copy_tb_s, MIB)?,
        gemm,
    })
}

/// Keys are sizes in `unit`, values are in tera.
fn by_size(rows: BTreeMap<String, f64>, unit: u64) -> Result<Vec<(u64, f64)>, String> {
    let mut sizes = Vec::with_capacity(rows.len());
    for (size, tera) in rows {
        let size: u64 = size.parse().map_err(|_| format!("`{size}` is not a size"))?;
        sizes.push((size * unit, tera * 1e12));
    }
    sizes.sort_by_key(|(size, _)| *size);
    Ok(sizes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_is_a_profile_with_sources() {
        for file in FILES.files() {
            let profile = read_file(file).unwrap_or_else(|error| panic!("{}: {error}", file.path().display()));
            assert!(
                !profile.sources.is_empty() && profile.bandwidth > 1e11,
                "{}",
                profile.name
            );
            assert!(profile.peaks.values().all(|peak| *peak > 1e12), "{}", profile.name);
        }
        assert_eq!(profiles().len(), FILES.files().count());
        assert!(profile(DEFAULT).is_ok());
    }

    #[test]
    fn measured_ceilings_stay_under_the_datasheet() {
        for profile in profiles() {
            let Some(measured) = &profile.measured else { continue };
            assert!(
                measured
                    .copy
                    .iter()
                    .all(|(_, bandwidth)| *bandwidth < profile.bandwidth)
            );
            assert!(measured.copy.windows(2).all(|pair| pair[0].0 < pair[1].0));
            for (path, rows) in &measured.gemm {
                assert!(rows.iter().all(|(_, rate)| *rate < profile.peaks[path]), "{path}");
            }
        }
        let h200 = profile("h200").unwrap();
        assert_eq!(h200.copy_bandwidth(1), Some(0.41e12));
        let at_a_size = h200.copy_bandwidth(256 << 20).unwrap();
        assert!((at_a_size / 4.11e12 - 1.0).abs() < 1e-12, "{at_a_size}");
        let between = h200.copy_bandwidth(128 << 20).unwrap();
        assert!((between - 3.915e12).abs() < 1e9, "{between}");
    }

    #[test]
    fn devices_find_their_profile() {
        for (reported, name) in [
            ("NVIDIA H200", "h200"),
            ("NVIDIA H100 80GB HBM3", "h100-sxm"),
            ("NVIDIA H20", "h20"),
            ("NVIDIA A100-SXM4-80GB", "a100"),
            ("NVIDIA GeForce RTX 4090", "rtx-4090"),
            ("NVIDIA L20", "l20"),
        ] {
            assert_eq!(
                profile_of_device(reported).map(|profile| profile.name.as_str()),
                Some(name),
                "{reported}"
            );
        }
        for reported in [
            "NVIDIA L4",
            "NVIDIA H100 PCIe",
            "NVIDIA GeForce RTX 4090 Laptop GPU",
            "NVIDIA A100-SXM4-40GB",
        ] {
            assert_eq!(profile_of_device(reported), None, "{reported}");
        }
    }

    #[test]
    fn an_unknown_profile_gets_a_hint() {
        assert_eq!(profile("h100").unwrap().name, "h100-sxm");
        let error = profile("h2000").unwrap_err();
        assert!(
            error.starts_with("no machine profile `h2000`; did you mean `h200`"),
            "{error}"
        );
    }
}

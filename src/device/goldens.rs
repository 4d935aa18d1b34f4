//! Golden kernels: one PTX file per instruction family, run with the same inputs on every device, results compared.
//!
//! A golden's header says what its inputs are and how each output is compared: bit for bit where PTX defines the result,
//! within PTX's stated error where it does not. Outputs recorded on real hardware are kept next to the kernels.

mod compare;
mod inputs;

use std::collections::BTreeMap;

use include_dir::{Dir, include_dir};
use serde::Deserialize;

use crate::device::{Bound, Device, Image};
use crate::dtype::DType;
use crate::kernel::plan::{Arg, Launch};
use crate::verdict::Outcome;

pub use compare::Tolerance;

/// Threads per CTA of every golden.
pub const BLOCK: u32 = 128;

static KERNELS: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/tests/goldens/kernels");

/// The type of an element: it picks special values, and how outputs are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Element {
    B8,
    B16,
    B32,
    B64,
    F16,
    Bf16,
    F32,
    F64,
}

impl Element {
    /// Bytes.
    pub const fn size(self) -> usize {
        match self {
            Self::B8 => 1,
            Self::B16 | Self::F16 | Self::Bf16 => 2,
            Self::B32 | Self::F32 => 4,
            Self::B64 | Self::F64 => 8,
        }
    }
}

/// One input buffer.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Input {
    pub name: String,
    #[serde(rename = "type")]
    pub element: Element,
    /// Elements per thread.
    #[serde(default = "one")]
    pub per: u32,
    /// Uniform values from here to there, both included, in place of special values and random bits.
    #[serde(default)]
    pub range: Option<[f64; 2]>,
    /// Further special values, as bits.
    #[serde(default)]
    pub also: Vec<u64>,
}

/// One output buffer.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Output {
    pub name: String,
    #[serde(rename = "type")]
    pub element: Element,
    /// Elements per thread.
    #[serde(default = "one")]
    pub per: u32,
    /// Elements in all, in place of `per`.
    #[serde(default)]
    pub elements: Option<u32>,
    /// Bits that every element holds before the launch.
    #[serde(default)]
    pub fill: u64,
    /// How far results may differ; nothing means bit for bit (any NaN equals any other).
    #[serde(default)]
    pub tolerance: Tolerance,
}

const fn one() -> u32 {
    1
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Header {
    about: String,
    threads: u32,
    #[serde(default)]
    input: Vec<Input>,
    output: Vec<Output>,
}

/// A golden kernel. Its entry is called `golden` and takes the addresses of its inputs, then of its outputs.
#[derive(Clone, Debug, PartialEq)]
pub struct Golden {
    pub name: String,
    pub about: String,
    /// A multiple of [`BLOCK`], so that kernels need no bounds check.
    pub threads: u32,
    pub inputs: Vec<Input>,
    pub outputs: Vec<Output>,
    pub ptx: String,
}

/// What a golden gave on a device: the bytes of every output, or why there are none.
#[derive(Clone, Debug)]
pub struct GoldenResult {
    pub name: String,
    pub outputs: Outcome<Vec<Vec<u8>>>,
}

/// The goldens that come with the program, by name.
///
/// # Errors
/// Names the file whose header is wrong.
pub fn embedded() -> Result<Vec<Golden>, String> {
    let mut goldens = KERNELS
        .files()
        .filter(|file| file.path().extension().is_some_and(|extension| extension == "ptx"))
        .map(|file| {
            let name = file.path().file_stem().unwrap_or_default().to_string_lossy();
            let text = file.contents_utf8().ok_or_else(|| format!("{name}: not text"))?;
            Golden::parse(&name, text).map_err(|error| format!("{name}: {error}"))
        })
        .collect::<Result<Vec<_>, _>>()?;
    goldens.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(goldens)
}

/// Runs every golden on a device.
pub fn run_all(device: &mut dyn Device, goldens: &[Golden]) -> Vec<GoldenResult> {
    goldens
        .iter()
        .map(|golden| GoldenResult {
            name: golden.name.clone(),
            outputs: golden.run(device),
        })
        .collect()
}

/// Writes what goldens gave to `folder/NAME.bin`: the bytes of all outputs, one after the other. Goldens that failed are
/// left out; their names and verdicts are the caller's to report.
///
/// # Errors
/// As the file system's.
pub fn save(results: &[GoldenResult], folder: &std::path::Path) -> std::io::Result<()> {
    std::fs::create_dir_all(folder)?;
    for result in results {
        if let Ok(outputs) = &result.outputs {
            std::fs::write(folder.join(format!("{}.bin", result.name)), outputs.concat())?;
        }
    }
    Ok(())
}

impl Golden {
    /// Reads the header, TOML between `/*---golden` and `---*/`.
    ///
    /// # Errors
    /// Says what is wrong with it.
    pub fn parse(name: &str, text: &str) -> Result<Self, String> {
        let (_, rest) = text
            .split_once("/*---golden")
            .ok_or("there is no `/*---golden` header")?;
        let (toml, _) = rest
            .split_once("---*/")
            .ok_or("the header has no end: expected `---*/`")?;
        let header: Header = toml::from_str(toml).map_err(|error| error.to_string())?;
        if header.threads == 0 || !header.threads.is_multiple_of(BLOCK) {
            return Err(format!("`threads` must be a multiple of {BLOCK}"));
        }
        Ok(Self {
            name: name.to_owned(),
            about: header.about,
            threads: header.threads,
            inputs: header.input,
            outputs: header.output,
            ptx: text.to_owned(),
        })
    }

    /// The elements of every input, as bits.
    pub fn inputs(&self) -> Vec<Vec<u64>> {
        let make = |(index, input): (usize, &Input)| inputs::elements(input, index, self.threads * input.per);
        self.inputs.iter().enumerate().map(make).collect()
    }

    /// Bytes of an output, and what is in it before the launch.
    pub fn initial(&self, output: &Output) -> Vec<u8> {
        let elements = output.elements.unwrap_or(self.threads * output.per);
        to_bytes(&vec![output.fill; elements as usize], output.element)
    }

    /// The launch: buffers are called `in0`, `in1`, ... and `out0`, `out1`, ...
    pub fn launch(&self) -> Launch {
        let names = (0..self.inputs.len()).map(|i| format!("in{i}"));
        let names = names.chain((0..self.outputs.len()).map(|i| format!("out{i}")));
        Launch {
            kernel: "golden".to_owned(),
            grid: [self.threads / BLOCK, 1, 1],
            block: [BLOCK, 1, 1],
            cluster: None,
            shared: 0,
            cooperative: false,
            args: names.map(Arg::Buffer).collect(),
            line: 0,
        }
    }

    /// Runs the golden, and returns the bytes of its outputs.
    ///
    /// # Errors
    /// The verdict of the step that failed.
    pub fn run(&self, device: &mut dyn Device) -> Outcome<Vec<Vec<u8>>> {
        let module = device.load(&Image {
            ptx: self.ptx.as_str().into(),
            cubin: None,
        })?;
        let mut buffers = BTreeMap::new();
        let result = self.run_loaded(device, module, &mut buffers);
        for buffer in buffers.into_values() {
            device.free(buffer);
        }
        device.unload(module);
        result
    }

    fn run_loaded(
        &self,
        device: &mut dyn Device,
        module: crate::device::ModuleId,
        buffers: &mut crate::device::Buffers,
    ) -> Outcome<Vec<Vec<u8>>> {
        let inputs = self.inputs().into_iter().zip(&self.inputs);
        let inputs = inputs.map(|(elements, input)| to_bytes(&elements, input.element));
        let contents = inputs.enumerate().map(|(i, bytes)| (format!("in{i}"), bytes));
        let outputs = self.outputs.iter().map(|output| self.initial(output));
        let contents = contents.chain(outputs.enumerate().map(|(i, bytes)| (format!("out{i}"), bytes)));
        for (name, bytes) in contents.collect::<Vec<_>>() {
            let buffer = device.alloc(&name, bytes.len() as u64)?;
            buffers.insert(name, buffer);
            device.poison(buffer, DType::U8, 0, true)?;
            device.write(buffer, 0, &bytes)?;
        }
        device.launch(&Bound {
            module,
            launch: &self.launch(),
            buffers,
        })?;
        (0..self.outputs.len())
            .map(|i| {
                let buffer = buffers[&format!("out{i}")];
                let bytes = device.size(buffer);
                device.read(buffer, 0, bytes)
            })
            .collect()
    }

    /// Where an output differs from another device's by more than its tolerance: how many elements, and the worst.
    pub fn difference(&self, output: usize, got: &[u8], want: &[u8]) -> Option<String> {
        let output = &self.outputs[output];
        compare::difference(output.element, output.tolerance, got, want)
            .map(|difference| format!("{}/{}: {difference}", self.name, output.name))
    }
}

/// Elements as little-endian bytes.
pub fn to_bytes(elements: &[u64], element: Element) -> Vec<u8> {
    elements
        .iter()
        .flat_map(|bits| bits.to_le_bytes().into_iter().take(element.size()))
        .collect()
}

/// Little-endian bytes as elements.
pub fn from_bytes(bytes: &[u8], element: Element) -> Vec<u64> {
    bytes
        .chunks_exact(element.size())
        .map(|chunk| chunk.iter().rev().fold(0, |bits, byte| bits << 8 | u64::from(*byte)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_embedded_golden_reads() {
        let goldens = embedded().expect("the headers are right");
        assert!(!goldens.is_empty());
        for golden in goldens {
            assert!(!golden.outputs.is_empty(), "{}", golden.name);
            for (elements, input) in golden.inputs().iter().zip(&golden.inputs) {
                assert_eq!(elements.len(), (golden.threads * input.per) as usize);
            }
        }
    }

    #[test]
    fn headers_are_checked() {
        let parse = |text: &str| Golden::parse("x", text);
        assert!(parse(".version 9.0").is_err_and(|error| error.contains("no `/*---golden` header")));
        assert!(parse("/*---golden\nthreads = 1").is_err_and(|error| error.contains("---*/")));
        let text = "/*---golden\nabout = \"\"\nthreads = 100\noutput = []\n---*/";
        assert!(parse(text).is_err_and(|error| error.contains("multiple")));
    }

    #[test]
    fn bytes_and_elements() {
        let bits = vec![0x0102, 0xfffe];
        assert_eq!(to_bytes(&bits, Element::F16), [2, 1, 0xfe, 0xff]);
        assert_eq!(from_bytes(&to_bytes(&bits, Element::F16), Element::F16), bits);
    }
}

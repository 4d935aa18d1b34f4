//! What to try next: concrete advice drawn from a verdict's class and evidence.

use super::{Class, Evidence, OutputEvidence, Verdict};

/// What is known about the run besides its verdict.
#[derive(Clone, Copy, Debug, Default)]
pub struct Context {
    /// The device was the emulator: a GPU may lack nothing that it lacks.
    pub emulated: bool,
}

/// Relative difference of all elements alike that points at a forgotten or doubled factor.
const SCALE_HINTS: [(&str, &str); 3] = [
    (
        "constant factor",
        "every element is off by one factor: look for a missing scale, a wrong divisor (n instead of n - 1, padded size instead of real) or a sum counted twice",
    ),
    (
        "sign",
        "every element has the wrong sign: look at the order of a subtraction",
    ),
    (
        "shift",
        "the values are right but in the wrong place: look at the output's index arithmetic",
    ),
];

/// Lines of advice from which on the general ones for the class are left out: more would not be read.
const ENOUGH: usize = 2;

/// Adds advice to a verdict, behind what its maker already said.
pub fn advise(verdict: &mut Verdict, context: Context) {
    let lines = if verdict.next.len() >= ENOUGH {
        from_evidence(verdict.class, &verdict.evidence)
    } else {
        advice(verdict.class, &verdict.evidence, context)
    };
    for line in lines {
        if !verdict.next.contains(&line) {
            verdict.next.push(line);
        }
    }
}

/// Advice for one class with its evidence, most likely first.
pub fn advice(class: Class, evidence: &[Evidence], context: Context) -> Vec<String> {
    let mut lines = from_evidence(class, evidence);
    lines.extend(general(class, context).iter().map(|line| (*line).to_owned()));
    lines
}

fn from_evidence(class: Class, evidence: &[Evidence]) -> Vec<String> {
    let mut lines = Vec::new();
    for piece in evidence {
        match piece {
            Evidence::Output(output) if class != Class::Passed => output_advice(output, &mut lines),
            Evidence::Access { .. } => access_advice(piece, &mut lines),
            _ => {}
        }
    }
    lines.dedup();
    lines
}

fn general(class: Class, context: Context) -> &'static [&'static str] {
    match class {
        Class::Passed => &[],
        Class::InvalidKernel => &[
            "compare the header with the operator's starter kernel: `ridgepoint list kernels --op OPERATOR`",
            "names in `args` are the operator's tensors, its parameters and the header's own scratch buffers: `ridgepoint list operators` shows the operators",
        ],
        Class::CompileError => &[
            "fix the first error first: later ones often follow from it",
            "options belong in `[compile]` of the header; tunables arrive as -DNAME=value",
        ],
        Class::Unsupported if context.emulated => &[
            "run it on a GPU: `--device cuda:0`",
            "or write the same step without this instruction (plain loads, `mma.sync` instead of `wgmma`, arithmetic instead of a special function) to check the rest here",
        ],
        Class::Unsupported => {
            &["this device is older than the kernel's target: choose another `arch` in `[compile]`, or another device"]
        }
        Class::LaunchError => &[
            "the grid, block and shared memory of the `[[launch]]` must fit the device: at most 1024 threads in a block, registers x threads within the register file, `shared` within the opt-in limit",
            "check the number, order and types of `args` against the kernel's parameters",
        ],
        Class::MemoryFault if context.emulated => {
            &["guard the index: `if (i < n)` around the access, for the last partial block above all"]
        }
        Class::MemoryFault => &[
            "run it on the emulator, which names the access: `--device emulator` with a `small-` shape",
            "guard the index: `if (i < n)` around the access, for the last partial block above all",
        ],
        Class::UninitializedRead => &[
            "write the memory before reading it: initialise shared memory, or put a `__syncthreads()` between the writes and the reads",
            "a scratch buffer that must start at zero says so: `zeroed = true` in its `[[scratch]]`",
        ],
        Class::DataRace => &[
            "put a `__syncthreads()` (or `__syncwarp()` within one warp) between the two accesses, or make the update atomic",
        ],
        Class::BarrierError => &[
            "every thread of the block must reach the same `__syncthreads()`: move it out of `if` and out of loops whose trip counts differ",
            "a thread that has nothing to do must not return before the last barrier: let it skip the work instead",
        ],
        Class::Timeout => &[
            "look for a loop whose condition never turns false: a spin on memory without `volatile` or an atomic, a stride of zero, an unsigned counter that counts down",
            "if it is only slow: a smaller shape (`--shape small-...`), or a longer limit (`--kernel-limit SECONDS`)",
        ],
        Class::Crashed => &[
            "run it on the emulator to see what it does: `--device emulator` with a `small-` shape",
            "`ridgepoint doctor` says whether the driver and the compilers are healthy",
        ],
        Class::OutOfMemory => &[
            "make the scratch buffers smaller: reuse one, or size it by `sm_count` instead of by the problem",
            "choose a smaller shape with `--shape`, or a device with more memory",
        ],
        Class::WrongStructure => &["compare the output's dtype and dimensions with `ridgepoint list operators --json`"],
        Class::WrongNumbers => &[
            "try a `small-` shape on the emulator: it also reports uninitialised reads and races",
            "try `--dist zeros` and `--dist ties`: simple inputs make the wrong term visible",
        ],
        Class::Nondeterministic => &[
            "look for a missing `__syncthreads()`, for blocks that write the same element, and for floating-point `atomicAdd` whose order changes",
            "a scratch counter or accumulator needs `zeroed = true` in its `[[scratch]]`",
        ],
        Class::MutatedInput => {
            &["write to the outputs or to a `[[scratch]]` buffer of the kernel's own, never to an input"]
        }
        Class::Fallback => &["do the work in the kernel itself, or name the library as the thing to be measured"],
        Class::Integrity => &[
            "every launch must do the whole work again: nothing may be kept from one launch to the next in `__device__` variables or in scratch",
        ],
        Class::TooFast => &[
            "check that every output element is computed from every input it depends on, for all shapes and seeds (`--seeds 5 --dist all`)",
            "if the kernel is honest, the machine's profile or the operator's cost model is wrong: please report it with `run --json`",
        ],
        Class::Environment => &["`ridgepoint doctor` says what is here and what to do about each gap"],
        Class::Cancelled => &["run it again when you are ready: nothing of the cancelled run was kept"],
    }
}

fn output_advice(output: &OutputEvidence, lines: &mut Vec<String>) {
    let name = &output.output;
    if output.unwritten > 0 && output.unwritten >= output.elements {
        lines.push(format!(
            "no element of `{name}` was written: check that it is among the launch's `args`, that the grid is not empty, and that the kernel stores to it"
        ));
        return;
    }
    if output.unwritten > 0 {
        lines.push(format!(
            "{} of {} elements of `{name}` were never written: check the grid's rounding up (`ceil_div`) and the guard of the last block",
            output.unwritten, output.elements
        ));
    }
    if output.nan > 0 {
        lines.push(format!(
            "`{name}` has {} NaN: look for 0/0, inf - inf, the square root of a negative variance, and sums kept in 16 bits; subtract the maximum before `exp`",
            output.nan
        ));
    } else if output.inf > 0 {
        lines.push(format!(
            "`{name}` has {} infinities: look for a division by a sum that can be zero, `exp` of a large value, or 16-bit overflow (f16 ends at 65504)",
            output.inf
        ));
    }
    if let Some(pattern) = &output.pattern {
        lines.extend(pattern_advice(pattern));
    } else if output.mismatches > 0 && output.nan == 0 && output.unwritten == 0 {
        lines.push(size_advice(output));
    }
}

fn pattern_advice(pattern: &str) -> Option<String> {
    let lower = pattern.to_lowercase();
    if let Some((_, line)) = SCALE_HINTS.iter().find(|(word, _)| lower.contains(word)) {
        return Some((*line).to_owned());
    }
    let line = if lower.contains("last") || lower.contains("tail") || lower.contains("partial") {
        "only the end is wrong: the last partial tile needs its own guard, and its size is the remainder, not the tile"
    } else if lower.contains("column") {
        "the error follows the columns: look at the index within a row, at vector loads that straddle its end, and at which lane holds which element"
    } else if lower.contains("block") || lower.contains("one row") || lower.contains("every") {
        "the error repeats with a fixed stride: compare that stride with the block's and the tile's size; one warp, one lane or one stage of a pipeline is wrong"
    } else if lower.contains("row") {
        "the error follows the rows: look at what is reduced over a row, and at what is left in shared memory from the row before"
    } else {
        return None;
    };
    Some(line.to_owned())
}

/// Below this relative L2 error the formula is right and only the rounding is not.
const ROUNDING_REL_L2: f64 = 0.05;

fn size_advice(output: &OutputEvidence) -> String {
    if output.rel_l2.is_finite() && output.rel_l2 < ROUNDING_REL_L2 {
        "the errors are small: accumulate in f32, round once at the end, and avoid the fast approximations (`__expf`, `rsqrt.approx`) where the contract is tight".to_owned()
    } else {
        "the errors are as large as the values: check the formula against the operator's maths, one term at a time"
            .to_owned()
    }
}

fn access_advice(piece: &Evidence, lines: &mut Vec<String>) {
    let Evidence::Access {
        space,
        offset,
        size,
        buffer,
        ..
    } = piece
    else {
        return;
    };
    if let (Some(offset), Some(size)) = (offset, size) {
        let name = buffer.as_deref().unwrap_or("the buffer");
        if *offset < 0 {
            lines.push(format!(
                "the access lies {} bytes before `{name}`: look for a negative index or an unsigned subtraction that wrapped",
                offset.unsigned_abs()
            ));
        } else if *offset as u64 >= *size {
            lines.push(format!(
                "the access lies {} bytes past the end of `{name}`: compare the highest index with its {size} bytes",
                *offset as u64 - size
            ));
        } else {
            lines.push(
                "the address must be a multiple of the access's size: vector loads (`float4`) need 16-byte aligned rows"
                    .to_owned(),
            );
        }
    } else if space == "shared" {
        lines.push(
            "compare the highest shared-memory index with the array's size and with `shared` of the `[[launch]]`"
                .to_owned(),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_failure_has_advice() {
        for class in Class::ALL {
            for emulated in [false, true] {
                let lines = advice(class, &[], Context { emulated });
                assert_eq!(lines.is_empty(), class == Class::Passed, "{class}");
            }
        }
    }

    #[test]
    fn unwritten_output_is_named_first() {
        let output = OutputEvidence {
            output: "out".to_owned(),
            elements: 8,
            unwritten: 8,
            mismatches: 8,
            ..OutputEvidence::default()
        };
        let lines = advice(
            Class::WrongNumbers,
            &[Evidence::Output(Box::new(output))],
            Context::default(),
        );
        assert!(lines[0].contains("no element of `out` was written"), "{lines:?}");
    }

    #[test]
    fn patterns_lead_to_their_cause() {
        assert!(
            pattern_advice("only rows >= 24704: the last partial tile")
                .unwrap()
                .contains("guard")
        );
        assert!(
            pattern_advice("all elements, constant factor 0.5")
                .unwrap()
                .contains("factor")
        );
        assert!(pattern_advice("something else").is_none());
    }

    #[test]
    fn advice_is_not_repeated() {
        let mut verdict = Verdict::new(Class::Timeout, "x");
        advise(&mut verdict, Context::default());
        let count = verdict.next.len();
        advise(&mut verdict, Context::default());
        assert_eq!(verdict.next.len(), count);
        let mut advised = Verdict::new(Class::Timeout, "x").try_next("one").try_next("two");
        advise(&mut advised, Context::default());
        assert_eq!(advised.next, ["one", "two"]);
    }
}

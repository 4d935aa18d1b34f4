//! From failed driver calls to verdicts.

use cudarc::driver::sys::CUresult;

use super::driver::{Failure, LoadFailure};
use crate::verdict::{Class, Evidence, Location, Severity, Verdict};

/// Whether the context is of no more use after this error: CUDA driver API, descriptions of `CUresult`.
pub(super) fn is_sticky(code: CUresult) -> bool {
    matches!(
        code,
        CUresult::CUDA_ERROR_ILLEGAL_ADDRESS
            | CUresult::CUDA_ERROR_LAUNCH_TIMEOUT
            | CUresult::CUDA_ERROR_ASSERT
            | CUresult::CUDA_ERROR_HARDWARE_STACK_ERROR
            | CUresult::CUDA_ERROR_ILLEGAL_INSTRUCTION
            | CUresult::CUDA_ERROR_MISALIGNED_ADDRESS
            | CUresult::CUDA_ERROR_INVALID_ADDRESS_SPACE
            | CUresult::CUDA_ERROR_INVALID_PC
            | CUresult::CUDA_ERROR_LAUNCH_FAILED
            | CUresult::CUDA_ERROR_ECC_UNCORRECTABLE
            | CUresult::CUDA_ERROR_CONTEXT_IS_DESTROYED
            | CUresult::CUDA_ERROR_UNKNOWN
    )
}

/// The verdict on a failed call; `during` says what was going on: "launching `k`".
pub(super) fn verdict(failure: &Failure, during: &str) -> Verdict {
    let (class, what, advice): (Class, &str, &[&str]) = match failure.code {
        CUresult::CUDA_ERROR_ILLEGAL_ADDRESS => (
            Class::MemoryFault,
            "the kernel accessed an address that is not allocated",
            &[
                "run the kernel on `--device emulator` with a small shape: it names the buffer, the thread and the source line",
                "guard the last tile, and check the order of `args` in the header",
            ],
        ),
        CUresult::CUDA_ERROR_MISALIGNED_ADDRESS => (
            Class::MemoryFault,
            "the kernel made an access that is not aligned to its size",
            &[
                "run the kernel on `--device emulator` with a small shape: it names the buffer, the thread and the source line",
                "check vector accesses where a row's length is not a multiple of the vector",
            ],
        ),
        CUresult::CUDA_ERROR_INVALID_ADDRESS_SPACE | CUresult::CUDA_ERROR_HARDWARE_STACK_ERROR => (
            Class::MemoryFault,
            "the kernel used an address of the wrong kind, or overran its stack",
            &["check pointers that are turned from one address space into another, and the depth of recursion"],
        ),
        CUresult::CUDA_ERROR_LAUNCH_FAILED
        | CUresult::CUDA_ERROR_ILLEGAL_INSTRUCTION
        | CUresult::CUDA_ERROR_INVALID_PC
        | CUresult::CUDA_ERROR_ASSERT => (
            Class::Crashed,
            "the kernel was stopped by an exception: a trap, a failed assert, an illegal instruction, or shared memory out of range",
            &[
                "run the kernel on `--device emulator` with a small shape: it names the thread and the source line",
                "where the kernel uses tensor maps or mbarriers, check their shared-memory addresses, alignment and byte counts",
            ],
        ),
        CUresult::CUDA_ERROR_OUT_OF_MEMORY => (
            Class::OutOfMemory,
            "the device does not have that much memory free",
            &[
                "choose a smaller shape",
                "see whether another process holds memory on this device",
            ],
        ),
        CUresult::CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES => (
            Class::LaunchError,
            "a CTA needs more registers or shared memory than a multiprocessor has",
            &["use fewer threads per block, or bound registers with __launch_bounds__"],
        ),
        CUresult::CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE => (
            Class::LaunchError,
            "a cooperative grid must be resident as a whole, and this one is too large",
            &["use a grid of at most `sm_count` times the CTAs that fit on one multiprocessor"],
        ),
        CUresult::CUDA_ERROR_INVALID_VALUE
        | CUresult::CUDA_ERROR_NOT_SUPPORTED
        | CUresult::CUDA_ERROR_INVALID_IMAGE => (
            Class::LaunchError,
            "the driver refused the arguments",
            &["compare the [[launch]] with the kernel's limits"],
        ),
        CUresult::CUDA_ERROR_LAUNCH_TIMEOUT => (
            Class::Timeout,
            "the driver's own watchdog ended the kernel",
            &["look for a loop that cannot end"],
        ),
        CUresult::CUDA_ERROR_NO_DEVICE | CUresult::CUDA_ERROR_INVALID_DEVICE => (
            Class::Environment,
            "there is no such CUDA device",
            &["run `ridgepoint list devices`"],
        ),
        CUresult::CUDA_ERROR_ECC_UNCORRECTABLE => (
            Class::Environment,
            "the device reported a memory error of its own",
            &["reset the device, or use another one"],
        ),
        _ => (
            Class::Environment,
            "the CUDA driver failed",
            &["run `ridgepoint doctor`", "see whether `nvidia-smi` works"],
        ),
    };
    let mut verdict = Verdict::new(class, format!("{during}: {what}")).with(Evidence::Note {
        text: failure.to_string(),
    });
    for text in advice {
        verdict = verdict.try_next(*text);
    }
    verdict
}

/// The verdict on a module that the driver did not take.
pub(super) fn load_verdict(failure: &LoadFailure, target: &str) -> Verdict {
    let code = failure.failure.code;
    let (class, reason, advice) = match code {
        CUresult::CUDA_ERROR_UNSUPPORTED_PTX_VERSION => (
            Class::Unsupported,
            "the PTX is of a newer version than this driver knows",
            "update the driver, or compile with an older NVRTC (or a lower `.version`)",
        ),
        CUresult::CUDA_ERROR_NO_BINARY_FOR_GPU => (
            Class::Unsupported,
            "the code was built for another GPU than this one",
            "set `arch` in the header's [compile] to this device's, or leave it out",
        ),
        CUresult::CUDA_ERROR_INVALID_PTX | CUresult::CUDA_ERROR_INVALID_SOURCE
            if failure.log.contains("not supported on") =>
        {
            (
                Class::Unsupported,
                "the PTX uses an instruction that this GPU does not have",
                "set `arch` in the header's [compile] (sm_90a for wgmma and setmaxnreg), or use a device that has the instruction",
            )
        }
        CUresult::CUDA_ERROR_INVALID_PTX | CUresult::CUDA_ERROR_INVALID_SOURCE => (
            Class::CompileError,
            "the driver's compiler rejected the PTX",
            "correct the PTX at the line named",
        ),
        _ => return verdict(&failure.failure, "loading the module"),
    };
    let mut verdict = Verdict::new(class, format!("{reason} ({target})"));
    for line in failure.log.lines().filter(|line| !line.trim().is_empty()) {
        verdict = verdict.with(diagnostic(line));
    }
    verdict
        .with(Evidence::Note {
            text: failure.failure.to_string(),
        })
        .try_next(advice)
}

/// `ptxas application ptx input, line 12; error   : Unknown symbol 'x'`
fn diagnostic(line: &str) -> Evidence {
    let number = line.split_once("line ").and_then(|(_, rest)| {
        let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
        digits.parse::<u32>().ok()
    });
    let severity = if line.contains("warning") {
        Severity::Warning
    } else {
        Severity::Error
    };
    Evidence::Diagnostic {
        severity,
        message: line.trim().to_owned(),
        at: number.map(|line| Location {
            file: "PTX".to_owned(),
            line,
            column: None,
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failure(code: CUresult) -> Failure {
        Failure {
            call: "cuStreamQuery",
            arguments: String::new(),
            code,
        }
    }

    #[test]
    fn classes_of_errors() {
        let class = |code| verdict(&failure(code), "running `k`").class;
        assert_eq!(class(CUresult::CUDA_ERROR_ILLEGAL_ADDRESS), Class::MemoryFault);
        assert_eq!(class(CUresult::CUDA_ERROR_LAUNCH_FAILED), Class::Crashed);
        assert_eq!(
            class(CUresult::CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE),
            Class::LaunchError
        );
        assert_eq!(class(CUresult::CUDA_ERROR_UNKNOWN), Class::Environment);
        assert!(is_sticky(CUresult::CUDA_ERROR_ILLEGAL_ADDRESS) && !is_sticky(CUresult::CUDA_ERROR_INVALID_VALUE));
    }

    #[test]
    fn errors_name_the_call() {
        let verdict = verdict(&failure(CUresult::CUDA_ERROR_ILLEGAL_ADDRESS), "running `k`");
        assert!(verdict.reason.starts_with("running `k`: "));
        let Evidence::Note { text } = &verdict.evidence[0] else {
            panic!()
        };
        assert_eq!(text, "cuStreamQuery() returned 700 (CUDA_ERROR_ILLEGAL_ADDRESS)");
    }

    #[test]
    fn logs_of_the_jit_become_diagnostics() {
        let log = "ptxas application ptx input, line 12; error   : Feature 'wgmma' not supported on .target 'sm_90'\n"
            .to_owned();
        let failure = LoadFailure {
            failure: failure(CUresult::CUDA_ERROR_INVALID_PTX),
            log,
        };
        let verdict = load_verdict(&failure, "sm_90");
        assert_eq!(verdict.class, Class::Unsupported);
        let Evidence::Diagnostic { at: Some(at), .. } = &verdict.evidence[0] else {
            panic!()
        };
        assert_eq!(at.line, 12);
    }
}

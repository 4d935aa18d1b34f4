//! The mock does what its kernels say.

use super::*;
use crate::kernel::plan::Launch;
use crate::problem::{Contract, Recipe};

fn launch() -> Launch {
    Launch {
        kernel: "k".to_owned(),
        grid: [1; 3],
        block: [1; 3],
        cluster: None,
        shared: 0,
        cooperative: false,
        args: Vec::new(),
        line: 3,
    }
}

fn prepared(text: &str) -> (MockDevice, ModuleId, Buffers) {
    let mut device = MockDevice::new();
    let module = device
        .load(&Image {
            ptx: text.into(),
            cubin: None,
        })
        .unwrap();
    let buffers: Buffers = ["x", "out"]
        .iter()
        .map(|name| ((*name).to_owned(), device.alloc(name, 256).unwrap()))
        .collect();
    let spec = GenerateSpec {
        recipe: Recipe::Normal { mean: 0.0, std: 1.0 },
        dtype: DType::F32,
        elements: 64,
        seed: 1,
        tensor: 0,
        total: 0,
    };
    device.generate(buffers["x"], &spec).unwrap();
    (device, module, buffers)
}

fn compare_out(device: &mut MockDevice, buffers: &Buffers) -> OutputEvidence {
    let spec = CompareSpec {
        dtype: DType::F32,
        dims: vec![8, 8],
        contract: Contract::Exact,
        poison: 0x7fc0_dead,
    };
    device.compare(buffers["out"], buffers["x"], &spec).unwrap()
}

#[test]
fn kernels_copy_scale_and_print() {
    let (mut device, module, buffers) = prepared("mock copy x out\nmock print hello\n");
    let launch = launch();
    let bound = Bound {
        module,
        launch: &launch,
        buffers: &buffers,
    };
    device.launch(&bound).unwrap();
    assert_eq!(compare_out(&mut device, &buffers).violation, None);
    assert_eq!(
        (device.take_output().as_str(), device.take_output().as_str()),
        ("hello\n", "")
    );

    let module = device
        .load(&Image {
            ptx: "// mock scale f32 x out 0.5".into(),
            cubin: None,
        })
        .unwrap();
    device.launch(&Bound { module, ..bound }).unwrap();
    assert_eq!(
        compare_out(&mut device, &buffers).pattern.unwrap(),
        "all elements, constant factor 0.5"
    );
    device.halve(buffers["x"], buffers["x"], DType::F32).unwrap();
    assert_eq!(compare_out(&mut device, &buffers).mismatches, 0);
}

#[test]
fn kernels_fail_as_they_say() {
    let (mut device, module, buffers) = prepared("mock fail memory_fault read past `x`");
    let launch = launch();
    let verdict = device
        .launch(&Bound {
            module,
            launch: &launch,
            buffers: &buffers,
        })
        .unwrap_err();
    assert_eq!(
        (verdict.class, verdict.reason.as_str()),
        (Class::MemoryFault, "read past `x`")
    );
    assert!(!device.is_usable());
    let wrong = device
        .load(&Image {
            ptx: "mock fail nonsense".into(),
            cubin: None,
        })
        .unwrap_err();
    assert_eq!(wrong.class, Class::InvalidKernel);
}

#[test]
fn times_are_the_stated_ones() {
    let (mut device, module, buffers) = prepared("mock times 10 12 11\nmock throttled 3\n");
    let launch = launch();
    let plan = TimePlan {
        launches: vec![Bound {
            module,
            launch: &launch,
            buffers: &buffers,
        }],
        zero: vec![buffers["out"]],
        cold: true,
    };
    let mut seen = Vec::new();
    device
        .time(&plan, &mut |sample| {
            seen.push((sample.microseconds, sample.throttled));
            if seen.len() == 4 { Flow::Stop } else { Flow::Continue }
        })
        .unwrap();
    assert_eq!(seen, [(10.0, false), (12.0, false), (11.0, true), (10.0, false)]);
    assert_eq!(device.read(buffers["out"], 0, 4).unwrap(), [0; 4]);
}

#[test]
fn memory_is_limited_and_guarded() {
    let (mut device, module, buffers) = prepared("mock overrun out 4");
    assert_eq!(device.guards(buffers["out"]).unwrap(), None);
    let launch = launch();
    device
        .launch(&Bound {
            module,
            launch: &launch,
            buffers: &buffers,
        })
        .unwrap();
    assert_eq!(device.guards(buffers["out"]).unwrap(), Some(260));
    let mut small = MockDevice::new().with_memory(100);
    assert_eq!(small.alloc("big", 101).unwrap_err().class, Class::OutOfMemory);
    assert!(small.read(BufferId(9), 0, 1).unwrap_err().reason.contains('9'));
}

//! The emulator as a device: its own kernels, its faults as verdicts.

use super::*;
use crate::device::Buffers;
use crate::kernel::plan::Launch;
use crate::verdict::Evidence;

/// out[i] = in[i] for i = thread, plus `shift` elements; thread 99 never stops.
const COPY: &str = r"
.version 8.0
.target sm_80
.address_size 64
.visible .entry copy(.param .u64 in, .param .u64 out, .param .u32 shift)
{
    .reg .b32 %r<8>;
    .reg .b64 %rd<8>;
    .reg .pred %p<3>;
    ld.param.u64 %rd1, [in];
    ld.param.u64 %rd2, [out];
    ld.param.u32 %r1, [shift];
    mov.u32 %r2, %tid.x;
    setp.eq.u32 %p1, %r2, 99;
$spin:
    @%p1 bra $spin;
    add.u32 %r3, %r2, %r1;
    mul.wide.u32 %rd3, %r3, 4;
    add.u64 %rd4, %rd1, %rd3;
    ld.global.u32 %r4, [%rd4];
    mul.wide.u32 %rd5, %r2, 4;
    add.u64 %rd6, %rd2, %rd5;
    st.global.u32 [%rd6], %r4;
    ret;
}
";

struct Setting {
    device: EmulatorDevice,
    module: ModuleId,
    buffers: Buffers,
}

fn setting() -> Setting {
    let mut device = EmulatorDevice::with_memory("h200", 1 << 20).unwrap();
    let module = device
        .load(&Image {
            ptx: COPY.into(),
            cubin: None,
        })
        .unwrap();
    let buffers = ["x", "y"]
        .map(|name| (name.to_owned(), device.alloc(name, 128).unwrap()))
        .into();
    Setting {
        device,
        module,
        buffers,
    }
}

impl Setting {
    fn run(&mut self, threads: u32, args: Vec<Arg>) -> Outcome<()> {
        let launch = Launch {
            kernel: "copy".to_owned(),
            grid: [1; 3],
            block: [threads, 1, 1],
            cluster: None,
            shared: 0,
            cooperative: false,
            args,
            line: 4,
        };
        self.device.launch(&Bound {
            module: self.module,
            launch: &launch,
            buffers: &self.buffers,
        })
    }

    fn copy(&mut self, threads: u32, shift: u32) -> Outcome<()> {
        let scalar = Arg::Scalar(shift.to_le_bytes().to_vec());
        self.run(
            threads,
            vec![Arg::Buffer("x".to_owned()), Arg::Buffer("y".to_owned()), scalar],
        )
    }
}

#[test]
fn kernels_run_and_are_counted() {
    let mut setting = setting();
    let data: Vec<u8> = (0..128).collect();
    setting.device.write(setting.buffers["x"], 0, &data).unwrap();
    setting.copy(32, 0).unwrap();
    assert_eq!(setting.device.read(setting.buffers["y"], 0, 128).unwrap(), data);
    let counters = setting.device.take_counters().unwrap();
    assert_eq!((counters.global_read_bytes, counters.global_write_bytes), (128, 128));
    assert!(setting.device.take_counters().is_none());
    assert!(!setting.device.can_time() && setting.device.launch_floor().unwrap().is_none());
}

#[test]
fn an_access_past_the_end_names_buffer_and_thread() {
    let mut setting = setting();
    setting.device.write(setting.buffers["x"], 0, &[1; 128]).unwrap();
    let verdict = setting.copy(32, 2).unwrap_err();
    assert_eq!(verdict.class, Class::MemoryFault);
    assert!(verdict.reason.contains("past the end of `x`"), "{}", verdict.reason);
    let Evidence::Access {
        access,
        buffer,
        offset,
        size,
        thread,
        cta,
        ptx_line,
        ..
    } = &verdict.evidence[0]
    else {
        panic!()
    };
    assert_eq!((access.as_str(), buffer.as_deref()), ("read of 4 bytes", Some("x")));
    assert_eq!((*offset, *size), (Some(128), Some(128)));
    assert_eq!((*thread, *cta), (Some([30, 0, 0]), Some([0, 0, 0])));
    assert_eq!(*ptx_line, Some(20));
    assert!(!verdict.next.is_empty());
}

#[test]
fn a_read_of_poison_is_seen() {
    let mut setting = setting();
    setting
        .device
        .poison(setting.buffers["x"], DType::F32, 0x7fc0_dead, false)
        .unwrap();
    let verdict = setting.copy(32, 0).unwrap_err();
    assert_eq!(verdict.class, Class::UninitializedRead);
    setting
        .device
        .poison(setting.buffers["x"], DType::F32, 0, true)
        .unwrap();
    setting.copy(32, 0).unwrap();
}

#[test]
fn a_hang_ends_at_the_limit() {
    let mut setting = setting();
    setting.device.write(setting.buffers["x"], 0, &[0; 128]).unwrap();
    setting.device.set_limit(0.2);
    let verdict = setting.copy(100, 0).unwrap_err();
    assert!(
        matches!(verdict.class, Class::Timeout | Class::MemoryFault),
        "{verdict}"
    );
    let mut setting = self::setting();
    setting.buffers = ["x", "y"]
        .map(|name| (name.to_owned(), setting.device.alloc(name, 512).unwrap()))
        .into();
    setting.device.poison(setting.buffers["x"], DType::U8, 0, true).unwrap();
    setting.device.set_limit(0.2);
    let verdict = setting.copy(100, 0).unwrap_err();
    assert_eq!(verdict.class, Class::Timeout, "{verdict}");
    assert!(verdict.reason.contains("0.2 s"), "{verdict}");
}

#[test]
fn wrong_launches_say_what_is_wrong() {
    let mut setting = setting();
    let verdict = setting.run(32, vec![Arg::Buffer("x".to_owned())]).unwrap_err();
    assert_eq!(verdict.class, Class::InvalidKernel, "{verdict}");
    let verdict = setting.run(32, vec![Arg::Buffer("z".to_owned())]).unwrap_err();
    assert!(verdict.class == Class::InvalidKernel && verdict.reason.contains("`z`"));
    assert_eq!(setting.copy(2048, 0).unwrap_err().class, Class::LaunchError);
    let broken = setting.device.load(&Image {
        ptx: ".version 8.0\n.target sm_80\n.entry ? {".into(),
        cubin: None,
    });
    assert_eq!(broken.unwrap_err().class, Class::CompileError);
}

#[test]
fn memory_and_profiles_have_limits() {
    let mut device = EmulatorDevice::with_memory("h100", 1000).unwrap();
    assert_eq!(device.alloc("big", 1001).unwrap_err().class, Class::OutOfMemory);
    let properties: BTreeMap<_, _> = device.info().properties.iter().cloned().collect();
    assert_eq!(
        (properties["sm_count"], properties["warp_size"], properties["cc_major"]),
        (132, 32, 9)
    );
    let unknown = EmulatorDevice::new("z80").err().unwrap();
    assert!(unknown.class == Class::Environment && unknown.next[0].contains("h200"));
}

//! A kernel file on the emulator, through the device interface that the worker uses.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use ridgepoint::device::{Bound, Buffers, Device, Image};
use ridgepoint::kernel;
use ridgepoint::problem::{Role, Source};
use ridgepoint::verdict::Outcome;

use super::case::Case;

/// Outputs are full of this before a run, and marked as never written.
pub(crate) const POISON: u64 = u64::MAX;

/// Runs a kernel with its default tunables and gives the outputs' bytes by name; inputs must come out as they went in.
pub(crate) fn run(device: &mut dyn Device, case: &Case<'_>, source: &Source) -> Outcome<BTreeMap<String, Vec<u8>>> {
    let file = kernel::load(Path::new(&source.name), Some(&source.text)).unwrap();
    let properties = device.info().properties.clone();
    let plan = file.plan(case.operator, &case.shape, &properties, &[]).unwrap();
    let ptx = source
        .ptx
        .as_ref()
        .unwrap_or_else(|| panic!("{}/{} ships without its PTX", case.operator.name, source.name));
    let image = Image {
        ptx: Arc::clone(ptx),
        cubin: None,
    };
    let module = device.load(&image)?;

    let mut buffers = Buffers::new();
    for tensor in &case.tensors {
        let id = device.alloc(&tensor.name, tensor.bytes())?;
        match case.inputs.get(&tensor.name) {
            Some(bytes) => device.write(id, 0, bytes)?,
            None => device.poison(id, tensor.dtype, POISON, false)?,
        }
        buffers.insert(tensor.name.clone(), id);
    }
    for scratch in &plan.scratch {
        let id = device.alloc(&scratch.name, scratch.elements * scratch.dtype.size() as u64)?;
        device.poison(
            id,
            scratch.dtype,
            if scratch.zeroed { 0 } else { POISON },
            scratch.zeroed,
        )?;
        buffers.insert(scratch.name.clone(), id);
    }
    let launched = plan.launches.iter().try_for_each(|launch| {
        device.launch(&Bound {
            module,
            launch,
            buffers: &buffers,
        })
    });

    let mut outputs = BTreeMap::new();
    for tensor in &case.tensors {
        let bytes = device.read(buffers[&tensor.name], 0, tensor.bytes())?;
        match tensor.role {
            Role::In => assert_eq!(
                bytes, case.inputs[&tensor.name],
                "{case}: {} changed {}",
                source.name, tensor.name
            ),
            _ => drop(outputs.insert(tensor.name.clone(), bytes)),
        }
    }
    for id in buffers.values() {
        device.free(*id);
    }
    device.unload(module);
    launched.map(|()| outputs)
}

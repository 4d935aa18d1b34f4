#[test]
fn all() {
    for path in std::env::var("PTX").unwrap().split(':') {
        let text = std::fs::read_to_string(path).unwrap();
        let module = ridgepoint::emulator::Module::load(&text).unwrap();
        for kernel in module.kernels() {
            match module.check(&kernel.name) {
                Ok(()) => println!("ok {} {}", path, kernel.name),
                Err(fault) => println!(
                    "BAD {} {} {:?} line {:?}",
                    path, kernel.name, fault.kind, fault.ptx_line
                ),
            }
        }
    }
}

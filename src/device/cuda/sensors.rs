//! What NVML says of a device while it is measured: SM clock and reasons to throttle. Everything here is optional.

use nvml_wrapper::Nvml;
use nvml_wrapper::bitmasks::device::ThrottleReasons;
use nvml_wrapper::enum_wrappers::device::Clock;

/// Samples below this share of the largest SM clock count as throttled: nvbench's default for its throttle check.
const THROTTLED_SHARE: f64 = 0.75;

/// A reading.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Reading {
    pub(super) sm_mhz: Option<u32>,
    pub(super) throttled: bool,
}

/// NVML with the device looked up.
#[derive(Debug)]
pub(super) struct Sensors {
    nvml: Nvml,
    bus_id: String,
    max_sm_mhz: Option<u32>,
}

impl Sensors {
    /// `None` where NVML or the device in it is not there.
    pub(super) fn new(bus_id: &str) -> Option<Self> {
        let nvml = Nvml::init().ok()?;
        let max_sm_mhz = nvml.device_by_pci_bus_id(bus_id).ok()?.max_clock_info(Clock::SM).ok();
        Some(Self {
            nvml,
            bus_id: bus_id.to_owned(),
            max_sm_mhz,
        })
    }

    pub(super) fn read(&self) -> Reading {
        let Ok(device) = self.nvml.device_by_pci_bus_id(self.bus_id.as_str()) else {
            return Reading::default();
        };
        let sm_mhz = device.clock_info(Clock::SM).ok();
        // A software power cap is left out: it shows in the clock where it matters, and is set most of the time on large GPUs.
        let hot =
            ThrottleReasons::HW_SLOWDOWN | ThrottleReasons::SW_THERMAL_SLOWDOWN | ThrottleReasons::HW_THERMAL_SLOWDOWN;
        let slowed = device
            .current_throttle_reasons()
            .is_ok_and(|reasons| reasons.intersects(hot));
        Reading {
            sm_mhz,
            throttled: slowed || self.is_low(sm_mhz),
        }
    }

    fn is_low(&self, sm_mhz: Option<u32>) -> bool {
        match (sm_mhz, self.max_sm_mhz) {
            (Some(now), Some(max)) => f64::from(now) < THROTTLED_SHARE * f64::from(max),
            _ => false,
        }
    }

    /// For the record: names and values.
    pub(super) fn details(&self) -> Vec<(String, String)> {
        let mut details = Vec::new();
        let mut add = |name: &str, value: Option<String>| {
            if let Some(value) = value {
                details.push((name.to_owned(), value));
            }
        };
        add("driver", self.nvml.sys_driver_version().ok());
        let megahertz = |value: u32| format!("{value} MHz");
        add("sm clock, largest", self.max_sm_mhz.map(megahertz));
        if let Ok(device) = self.nvml.device_by_pci_bus_id(self.bus_id.as_str()) {
            add("sm clock at start", device.clock_info(Clock::SM).ok().map(megahertz));
            add(
                "memory clock at start",
                device.clock_info(Clock::Memory).ok().map(megahertz),
            );
            add(
                "power limit",
                device
                    .enforced_power_limit()
                    .ok()
                    .map(|milliwatts| format!("{} W", milliwatts / 1000)),
            );
        }
        details
    }
}

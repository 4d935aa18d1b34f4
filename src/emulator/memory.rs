//! Global memory: named buffers at 64-bit addresses, with guard gaps between them.
//!
//! Buffers are shared by all host threads of a launch, so their words are atomics with relaxed ordering: a race in the
//! kernel gives some value, as on a GPU, and never undefined behaviour here.

mod buffer;

use std::collections::HashMap;
use std::sync::Mutex;

pub(super) use buffer::Buffer;

use super::fault::{Access, FaultKind};

/// Where global memory begins. Shaped like the addresses that CUDA gives on Linux.
const BASE: u64 = 0x7f00_0000_0000;
/// Buffers start in pages of their own, so that a page names at most one buffer.
const PAGE_BITS: u32 = 21;
/// Offset of a buffer in its first page: aligned to 256 bytes as `cudaMalloc` promises, and to no more.
const LEAD: u64 = 0x300;
/// Locks over which wide atomics are spread.
const STRIPES: usize = 64;

/// A refused host access or allocation.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MemoryError {
    #[error("cannot allocate {bytes} bytes for `{name}`: {free} bytes are free")]
    OutOfMemory { name: String, bytes: u64, free: u64 },
    #[error("no buffer holds the {bytes} bytes at 0x{address:x}")]
    NoSuchRange { address: u64, bytes: u64 },
}

/// Global memory of one emulated device.
#[derive(Debug)]
pub struct Memory {
    buffers: Vec<Option<Buffer>>,
    /// Page number to buffer index + 1.
    pages: Vec<u32>,
    limit: u64,
    used: u64,
    /// Buffers that hold the variables of loaded modules: base addresses by module id.
    modules: HashMap<u64, Vec<u64>>,
    /// Names, bases and sizes of freed buffers, so that a use after free can be named. The newest are at the end.
    freed: Vec<(String, u64, u64)>,
    locks: [Mutex<()>; STRIPES],
}

impl Memory {
    /// Memory that gives out at most `limit` bytes.
    pub fn new(limit: u64) -> Self {
        Self {
            buffers: Vec::new(),
            pages: Vec::new(),
            limit,
            used: 0,
            modules: HashMap::new(),
            freed: Vec::new(),
            locks: std::array::from_fn(|_| Mutex::new(())),
        }
    }

    /// Bytes that can still be allocated.
    pub fn available(&self) -> u64 {
        self.limit - self.used
    }

    /// Allocates a buffer, aligned to 256 bytes, and returns its address. Its bytes count as uninitialised.
    pub fn alloc(&mut self, name: &str, bytes: u64) -> Result<u64, MemoryError> {
        if bytes > self.available() {
            return Err(MemoryError::OutOfMemory {
                name: name.to_owned(),
                bytes,
                free: self.available(),
            });
        }
        let first_page = self.pages.len();
        let base = BASE + ((first_page as u64) << PAGE_BITS) + LEAD;
        // The rest of the last page, or one page more, is the gap to the next buffer.
        let page_count = ((LEAD + bytes + 0x100) >> PAGE_BITS) + 1;
        let mark = u32::try_from(self.buffers.len() + 1).expect("fewer than 2^32 buffers");
        self.pages.resize(first_page + page_count as usize, mark);
        self.buffers.push(Some(Buffer::new(name, base, bytes)));
        self.used += bytes;
        Ok(base)
    }

    /// Frees the buffer that starts at `address`. Its addresses are never given out again.
    pub fn free(&mut self, address: u64) {
        let Some(index) = self.index(address) else { return };
        if self.buffers[index]
            .as_ref()
            .is_some_and(|buffer| buffer.base() == address)
            && let Some(buffer) = self.buffers[index].take()
        {
            self.used -= buffer.bytes();
            self.freed
                .push((buffer.name().to_owned(), buffer.base(), buffer.bytes()));
        }
    }

    fn index(&self, address: u64) -> Option<usize> {
        let page = address.checked_sub(BASE)? >> PAGE_BITS;
        let mark = *self.pages.get(usize::try_from(page).ok()?)?;
        (mark as usize).checked_sub(1)
    }

    /// The buffer whose pages hold `address`; the address may still be outside of its bytes.
    #[inline]
    pub fn near(&self, address: u64) -> Option<&Buffer> {
        self.buffers[self.index(address)?].as_ref()
    }

    /// The buffer that holds all of `bytes` bytes at `address`, and the offset in it.
    #[inline]
    pub fn locate(&self, address: u64, bytes: u64) -> Option<(&Buffer, usize)> {
        let buffer = self.near(address)?;
        let offset = address.wrapping_sub(buffer.base());
        (offset <= buffer.bytes() && bytes <= buffer.bytes() - offset).then_some((buffer, offset as usize))
    }

    fn range(&self, address: u64, bytes: u64) -> Result<(&Buffer, usize), MemoryError> {
        self.locate(address, bytes)
            .ok_or(MemoryError::NoSuchRange { address, bytes })
    }

    /// Copies bytes from the host; they count as initialised.
    pub fn write(&self, address: u64, bytes: &[u8]) -> Result<(), MemoryError> {
        let (buffer, offset) = self.range(address, bytes.len() as u64)?;
        buffer.write_bytes(offset, bytes);
        Ok(())
    }

    /// Copies bytes to the host, initialised or not.
    pub fn read_into(&self, address: u64, bytes: &mut [u8]) -> Result<(), MemoryError> {
        let (buffer, offset) = self.range(address, bytes.len() as u64)?;
        buffer.read_bytes(offset, bytes);
        Ok(())
    }

    /// Copies bytes to the host, initialised or not.
    pub fn read(&self, address: u64, bytes: u64) -> Result<Vec<u8>, MemoryError> {
        let (buffer, offset) = self.range(address, bytes)?;
        let mut out = vec![0; bytes as usize];
        buffer.read_bytes(offset, &mut out);
        Ok(out)
    }

    /// Marks all bytes of the buffer at `address` as never written; their values stay.
    pub fn mark_uninitialized(&mut self, address: u64) -> Result<(), MemoryError> {
        match self.index(address).and_then(|index| self.buffers[index].as_mut()) {
            Some(buffer) => {
                buffer.mark(false);
                Ok(())
            }
            None => Err(MemoryError::NoSuchRange { address, bytes: 0 }),
        }
    }

    /// Marks all bytes of the buffer at `address` as written.
    pub fn mark_initialized(&mut self, address: u64) -> Result<(), MemoryError> {
        match self.index(address).and_then(|index| self.buffers[index].as_mut()) {
            Some(buffer) => {
                buffer.mark(true);
                Ok(())
            }
            None => Err(MemoryError::NoSuchRange { address, bytes: 0 }),
        }
    }

    /// How many of the `bytes` bytes at `address` have been written.
    pub fn initialized_bytes(&self, address: u64, bytes: u64) -> Result<u64, MemoryError> {
        let (buffer, offset) = self.range(address, bytes)?;
        Ok((offset..offset + bytes as usize)
            .filter(|&at| buffer.is_initialized(at, 1))
            .count() as u64)
    }

    /// Refuses writes to the buffer at `address` from now on (constants).
    pub(super) fn set_read_only(&mut self, address: u64) {
        if let Some(buffer) = self.index(address).and_then(|index| self.buffers[index].as_mut()) {
            buffer.set_read_only();
        }
    }

    /// The addresses of a module's variables, if it has been placed.
    pub(super) fn module(&self, id: u64) -> Option<&[u64]> {
        self.modules.get(&id).map(Vec::as_slice)
    }

    pub(super) fn set_module(&mut self, id: u64, addresses: Vec<u64>) {
        self.modules.insert(id, addresses);
    }

    /// Frees the variables of a module.
    pub fn unload(&mut self, module: &super::Module) {
        for address in self.modules.remove(&module.id()).unwrap_or_default() {
            self.free(address);
        }
    }

    /// The lock that guards atomics wider than a word at `address`.
    pub(super) fn lock(&self, address: u64) -> std::sync::MutexGuard<'_, ()> {
        let stripe = (address >> 4) as usize % STRIPES;
        self.locks[stripe]
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Describes a refused access, with the nearest buffer.
    pub(super) fn access(&self, what: &'static str, address: u64, bytes: u32) -> Access {
        let live = self.buffers.iter().flatten().map(|b| (b.name(), b.base(), b.bytes()));
        let distance = |base: u64, size: u64| {
            if address < base {
                base - address
            } else {
                address.saturating_sub(base + size - 1)
            }
        };
        let nearest = live.min_by_key(|&(_, base, size)| distance(base, size.max(1)));
        let freed = self
            .freed
            .iter()
            .rev()
            .find(|&&(_, base, size)| address >= base && address - base < size);
        let buffer = match (freed, nearest) {
            (Some((name, base, size)), _) => {
                Some((format!("{name} (freed)"), *size, address.wrapping_sub(*base) as i64))
            }
            (None, Some((name, base, size))) => Some((name.to_owned(), size, address.wrapping_sub(base) as i64)),
            (None, None) => None,
        };
        Access {
            what,
            space: "global",
            bytes,
            address,
            buffer,
        }
    }

    /// The fault of an access that no buffer holds.
    pub(super) fn out_of_bounds(&self, what: &'static str, address: u64, bytes: u32) -> FaultKind {
        FaultKind::OutOfBounds(self.access(what, address, bytes))
    }
}

/// Whether an address lies where global memory may be; used to tell windows of the generic address space apart.
#[inline]
pub(super) const fn is_global(address: u64) -> bool {
    address >= BASE
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_are_apart_and_accounted() {
        let mut memory = Memory::new(1 << 22);
        let a = memory.alloc("a", 1 << 21).unwrap();
        let b = memory.alloc("b", 100).unwrap();
        assert_eq!((a % 256, b % 256), (0, 0));
        assert!(b >= a + (1 << 21) + 256);
        assert!(memory.locate(a + (1 << 21) - 4, 4).is_some());
        assert!(memory.locate(a + (1 << 21) - 3, 4).is_none());
        assert!(memory.locate(a - 1, 1).is_none());
        assert!(matches!(
            memory.alloc("c", 1 << 22),
            Err(MemoryError::OutOfMemory { .. })
        ));
        memory.free(a);
        assert_eq!(memory.available(), (1 << 22) - 100);
        assert!(memory.locate(a, 1).is_none());
        let FaultKind::OutOfBounds(access) = memory.out_of_bounds("read", a + 8, 4) else {
            panic!()
        };
        assert_eq!(access.buffer, Some(("a (freed)".to_owned(), 1 << 21, 8)));
        let FaultKind::OutOfBounds(access) = memory.out_of_bounds("read", b + 100, 4) else {
            panic!()
        };
        assert_eq!(access.buffer, Some(("b".to_owned(), 100, 100)));
    }

    #[test]
    fn bytes_round_trip_at_any_offset() {
        let mut memory = Memory::new(1 << 20);
        let a = memory.alloc("a", 61).unwrap();
        let data: Vec<u8> = (0..40).collect();
        for at in 0..21 {
            memory.write(a + at, &data).unwrap();
            assert_eq!(memory.read(a + at, 40).unwrap(), data);
        }
        assert_eq!(memory.initialized_bytes(a, 61).unwrap(), 60);
        memory.mark_uninitialized(a).unwrap();
        memory.write(a + 3, &data[..6]).unwrap();
        assert_eq!(memory.initialized_bytes(a, 61).unwrap(), 6);
    }
}

//! Compilers: finding, installing and calling them; the cache of what they made.

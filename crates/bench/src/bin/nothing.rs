//! A program that does nothing: what starting a process costs on this machine.

fn main() {}

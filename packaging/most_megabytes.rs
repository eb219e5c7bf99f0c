// The goal for the size of the program in packages, in MB: `cargo xtask bench size` has it as a bound, and `cargo xtask
// dist` warns above it.
22.0

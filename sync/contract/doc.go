// Package contract is a set of tests of what the product takes for granted about
// Entra, Graph and Power BI. They only read. They run against the sample tenant by
// themselves, and against a real one where the environment names it (make
// test-live); each says which variables it would need where they are not set. The
// clients are those of the product: only addresses and credentials differ.
package contract

// Package matrixtest has the authorization matrix: one table of every route and
// every tool with what each kind of caller is answered, and the tests that ask
// for each cell over real HTTP. Beside it stand the tests of what the connector
// may write and tell, and a hostile pass over the whole surface. It has tests alone.
package matrixtest

// Package e2e has the end-to-end tests: they start the built program as a user
// would and drive it with real clients over HTTP. The clients' packages come from
// npm (scripts/setup test); where they are not installed the tests are skipped.
package e2e

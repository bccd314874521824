// Package operation has the declaration that every operation of the product is
// made by, and the guard that every call of one passes.
//
// An [Operation] says once what callers, policies and transports need to know;
// [Operation.Def] erases its types, so that the catalogue can list it and the
// connector, REST and the command line can bind it. [Guard.Call] is the only code
// that runs a handler. It takes each call through one order:
//
//	principal → a role reaches them → rate limit → decode and validate →
//	resource → decision → handler → output cut to size → audit
//
// The operations themselves are in the packages beside this one, one noun each.
package operation

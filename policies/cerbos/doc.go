// Package cerbos decides by asking a Cerbos process, over its own Unix socket or
// a network address. It is the one [policies.Decider] of the product; cerbostest
// has a fake of it and the suite that both pass.
//
// A decision is a function of the question and the policies, and Cerbos reads its
// policies once, when it starts. So answers are remembered, but only while the
// connection to that very process stands: when it breaks, everything is forgotten
// and nothing is decided until a process answers again. The target must therefore
// be the process itself and not something that spreads requests over several.
package cerbos

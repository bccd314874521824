// Package deployment reads the policies that a company lays over the shipped
// ones: which files there are, what they are about, and where in them a rule
// stands. Whether they mean what they should is for Cerbos and their tests to say
// (package cerbos); here is what Cerbos leaves open, and a deployment must not.
package deployment

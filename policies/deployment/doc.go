// Package deployment reads the policies that a deployment lays over the shipped
// ones, as files. What they decide is Cerbos' to say.
package deployment

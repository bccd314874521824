// Package folder knows the folder of a deployment: what `pbmb init` makes in it,
// and what `pbmb check` sees to before anything is started. It needs no running
// deployment. What the policies in it say is read by policies/deployment.
package folder

// Package account knows which deployment the command line speaks to and who is
// signed in there: the choice between what is given and what is remembered, the
// file that remembers, the device flow that signs in, and the calls that carry a
// token. It speaks HTTP and nothing else to a deployment.
package account
